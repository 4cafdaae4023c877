//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
// Transposes a matrix of short runs, e.g. three-byte pixels when a picture is rotated. Both sides are accessed in whole
// aligned words, wherever a row starts; runs are extracted and joined in registers.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/memory.glsl"
#include "permute/permute_runs.abi.h"
#define OWN_WORDS PERMUTE_RUNS_WORDS
#include "permute/permute.glsl"

layout(constant_id = PERMUTE_RUNS_SPEC_RUN) const uint kRun = 3u;
layout(constant_id = PERMUTE_RUNS_SPEC_TILE_S) const uint kTileS = 64u;
layout(constant_id = PERMUTE_RUNS_SPEC_TILE_D) const uint kTileD = 64u;
layout(constant_id = PERMUTE_RUNS_SPEC_BLOCK_S) const uint kBlockS = 4u;
layout(constant_id = PERMUTE_RUNS_SPEC_BLOCK_D) const uint kBlockD = 4u;
layout(constant_id = PERMUTE_RUNS_SPEC_LOAD_BYTES) const uint kLoad = 4u;
layout(constant_id = PERMUTE_RUNS_SPEC_STORE_BYTES) const uint kStore = 4u;
layout(constant_id = PERMUTE_RUNS_SPEC_SHIFT) const uint kShift = 1u;
layout(constant_id = PERMUTE_RUNS_SPEC_HALO) const uint kHalo = 4u;
layout(constant_id = PERMUTE_RUNS_SPEC_STAGED) const uint kStaged = 1u;
layout(constant_id = PERMUTE_RUNS_SPEC_SKEW) const uint kSkew = 1u;
layout(constant_id = PERMUTE_RUNS_SPEC_SWAP) const uint kSwap = 0u;

const uint kPerWord = 4u / ELEMENT_BYTES;                           // units per word
const uint kPerWordShift = 2u - ELEMENT_SHIFT;
const uint kStepD = kTileD - kHalo;
const uint kBlocksS = kTileS / kBlockS;
const uint kBlocks = kBlocksS * (kTileD / kBlockD);
const uint kRowWords = kBlockS * kRun / kPerWord;                   // words per row of a block
const uint kColWords = kBlockD * kRun / kPerWord;                   // words per column of a block
// Rows before the block, which supply the leading units of the column's first word.
const uint kFront = kStaged == 0u && kShift != 0u ? (kPerWord - 1u + kRun - 1u) / kRun : 0u;
const uint kRows = kFront + kBlockD;

// Staged tile: row s holds the bytes of its TILE_D runs, adjacent.
const uint kPitch = kTileD * kRun / kPerWord;
// one word past the end is loaded, and not used
shared uint staged[kStaged != 0u ? kTileS * kPitch + kBlocksS * kSkew + 1u : 1u];
uint staged_at(uint s, uint w) { return s * kPitch + s / kBlockS * kSkew + w; }

uint held[kRows * kRowWords];                                   // rows of one block
uint joined[kColWords < 4u ? 4u : kColWords];                   // words to store

// Accesses are aligned to their own size: offsets in units are relative to the operand's address rounded down to an
// access.
const uint kPerStore = kStore / ELEMENT_BYTES;
uvec2 word_base() { return uvec2(push.src.x & ~3u, push.src.y); }
uint word_lead() { return (push.src.x & 3u) / ELEMENT_BYTES; }
uvec2 store_base() { return uvec2(push.dst.x & ~(kStore - 1u), push.dst.y); }
uint store_lead() { return (push.dst.x & (kStore - 1u)) / ELEMENT_BYTES; }

struct Tile {
  offset_t from, to;            // in units: first run of the tile, without the halo, in source and destination
  offset_t src_d, dst_s;        // run strides: along D in the source, along S in the destination
  int size_s;                   // runs inside the problem along S
  int size_d;  // runs from the tile's first to the problem's last along D, at most two tile steps; may be less than 1
  int first_row;                      // first row that exists: 0, or minus the rows before the tile
  offset_t first_whole, last_whole;   // first and last word that lie wholly inside the source
  uint head, tail;              // the words before and after those, as far as they lie inside the source
};

#if ELEMENT_BYTES < 4
uint unit_at(offset_t at) { return load_bytes(push.src, at, ELEMENT_BYTES).x; }

// Loads the source's first and last word, where they lie only partly inside it, in units. Tiles that contain neither
// skip this; all loads stay inside the source either way.
void load_ends(inout Tile t) {
  const offset_t lead = offset_t(word_lead()), units = source_units(), end = units + lead;
  t.first_whole = lead != 0 ? 1 : 0;
  t.last_whole = (end >> kPerWordShift) - 1;
  t.head = 0u;
  t.tail = 0u;
  if (t.from + offset_t(t.first_row) * t.src_d + lead < offset_t(kPerWord)) {
    [[unroll]] for (int e = 0; e < int(kPerWord); ++e)
      t.head |= unit_at(max(offset_t(e) - lead, offset_t(0))) << (8 * ELEMENT_BYTES * e);
  }
  if (t.from + offset_t(t.size_d - 1) * t.src_d + offset_t(kTileS * kRun + 2u * kPerWord) + lead > end) {
    [[unroll]] for (int e = 0; e < int(kPerWord); ++e)
      t.tail |= unit_at(min(((t.last_whole + 1) << kPerWordShift) + offset_t(e) - lead, units - 1))
                << (8 * ELEMENT_BYTES * e);
  }
}

uint fetch(Tile t, offset_t w) {
  uint value = load_bytes(word_base(), clamp(w, t.first_whole, t.last_whole) << kPerWordShift, 4u).x;
  if (w < t.first_whole) value = t.head;
  if (w > t.last_whole) value = t.tail;
  return value;
}
#endif

Tile locate_tile(uint id) {
  Tile t;
  const uint axis_s = kSwap == 0u ? 0u : 1u;
  t.from = 0; t.to = 0;
  t.size_s = int(kTileS); t.size_d = 0;
  t.first_row = 0;
  t.src_d = kSwap == 0u ? src_stride(1u) : src_stride(0u);
  t.dst_s = kSwap == 0u ? dst_stride(0u) : dst_stride(1u);
  [[unroll]] for (uint a = 0u; a < kAxes; ++a) {
    uint digit = take_digit(id, a);
    uint step = 1u;
    if (a < 2u) {
      step = a == axis_s ? kTileS : kStepD;
      if (a == axis_s) {
        if (digit + 1u == axis_count(a)) t.size_s = int(last_s());
      } else {
        t.size_d = int(min(runs_d() - digit * kStepD + 2u * kStepD, 4u * kStepD)) - 2 * int(kStepD);
        if (digit != 0u) t.first_row = -int(kStaged != 0u ? kHalo : kFront);
      }
    }
    t.from += offset_t(digit * step) * src_stride(a);
    t.to += offset_t(digit * step) * dst_stride(a);
  }
#if ELEMENT_BYTES < 4
  if (kLoad == 0u) load_ends(t);
#endif
  return t;
}

// Loads the rows of the block whose first run along S is `col`, from row `row` on. Rows and columns outside the problem
// are clamped to the last ones inside: the clamped values are never stored, and the loads need no branch.
void load_block(Tile t, uint col, int row) {
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    const offset_t start = t.from + offset_t(clamp(row + int(r), t.first_row, t.size_d - 1)) * t.src_d;
    if (kLoad == 0u) {
#if ELEMENT_BYTES < 4
      const offset_t at = start + offset_t(col * kRun + word_lead());
      const offset_t first = at >> kPerWordShift;
      const uint shift = 8u * ELEMENT_BYTES * (uint(at) % kPerWord);
      uint value = fetch(t, first);
      [[unroll]] for (uint w = 0u; w < kRowWords; ++w) {
        const uint next = fetch(t, first + offset_t(w + 1u));
        // The shift by 32 minus the offset is split in two: a single shift by 32 is undefined.
        held[r * kRowWords + w] = (value >> shift) | ((next << 1u) << (31u - shift));
        value = next;
      }
#endif
    } else {
      const uint per = kLoad / ELEMENT_BYTES;
      const uint last = uint(t.size_s) * kRun - per;
      [[unroll]] for (uint k = 0u; k < kRowWords * 4u / (kLoad == 0u ? 4u : kLoad); ++k) {
        const uvec4 v = load_bytes(push.src, start + offset_t(min(col * kRun + k * per, last)), kLoad);
        [[unroll]] for (uint w = 0u; w < kLoad / 4u; ++w) held[r * kRowWords + k * (kLoad / 4u) + w] = v[w];
      }
    }
  }
}

// Word w of column c of the block. Word 0 is the one before the block's first run. Arguments are constant after
// unrolling.
uint word_of(const uint c, const uint w) {
  uint value = 0u;
  [[unroll]] for (uint e = 0u; e < kPerWord; ++e) {
    const uint at = w * kPerWord + e + kFront * kRun;
    if (at >= kPerWord) {
      const uint row = (at - kPerWord) / kRun, unit = c * kRun + (at - kPerWord) % kRun;
#if ELEMENT_BYTES == 4
      value = held[row * kRowWords + unit];
#else
      value |= ((held[row * kRowWords + unit / kPerWord] >> (8u * ELEMENT_BYTES * (unit % kPerWord))) &
                (0xffffffffu >> (32u - 8u * ELEMENT_BYTES))) << (8u * ELEMENT_BYTES * e);
#endif
    }
  }
  return value;
}

// Joins column c of the block into the words to store, where `skew` units of the first word precede its first run.
void join_column(const uint c, uint skew) {
  uint front = word_of(c, 0u);
  const uint bits = 8u * ELEMENT_BYTES * skew;
  [[unroll]] for (uint w = 0u; w < kColWords; ++w) {
    const uint next = word_of(c, w + 1u);
    // The shift by 32 minus the offset is split in two: a single shift by 32 is undefined.
    joined[w] = kShift == 0u ? next : (next << bits) | ((front >> 1u) >> (31u - bits));
    front = next;
  }
}

// Words to store, from `first` on, as one access.
uvec4 access_of(const uint first) {
  uvec4 v = uvec4(0u);
  [[unroll]] for (uint w = 0u; w < kStore / 4u; ++w) v[w] = joined[first + w];
  return v;
}

// Stores `words` joined words at unit offset `at`, where an access starts. Units from `begin` to `end` belong to the
// row; only these are written.
void store_joined(offset_t at, const uint words, int begin, int end) {
  if (begin <= 0 && end >= int(words * kPerWord)) {
    [[unroll]] for (uint k = 0u; k < words * 4u / kStore; ++k)
      store_bytes(store_base(), at + offset_t(k * kPerStore), kStore, access_of(k * (kStore / 4u)));
    return;
  }
  [[unroll]] for (uint w = 0u; w < words; ++w) {
    const int first = int(w * kPerWord);
    if (begin <= first && end >= first + int(kPerWord)) {
      store_bytes(store_base(), at + offset_t(first), 4u, uvec4(joined[w], 0u, 0u, 0u));
#if ELEMENT_BYTES < 4
    } else {
      [[unroll]] for (int e = 0; e < int(kPerWord); ++e) {
        if (first + e >= begin && first + e < end)
          store_bytes(store_base(), at + offset_t(first + e), ELEMENT_BYTES,
                      uvec4(joined[w] >> (8 * ELEMENT_BYTES * e), 0u, 0u, 0u));
      }
#endif
    }
  }
}

const int kFar = 0x3fffffff;

// Stores the block's columns directly. `d` is its first run along D.
void store_columns(Tile t, uint col, uint d) {
  [[unroll]] for (uint c = 0u; c < kBlockS; ++c) {
    const offset_t row = t.to + offset_t(col + c) * t.dst_s + offset_t(d * kRun) + offset_t(store_lead());
    const uint skew = kShift != 0u ? uint(row) % kPerStore : 0u;
    join_column(c, skew);
    const int begin = t.first_row == 0 && d == 0u ? 0 : -kFar;
    const int end = (t.size_d - int(d)) * int(kRun);
    if (col + c < uint(t.size_s)) store_joined(row - offset_t(skew), kColWords, begin + int(skew), end + int(skew));
  }
}

// Stores the rows of the staged tile.
void store_staged(Tile t) {
  const uint chunks = kStepD * kRun / kPerStore;   // accesses per row
  const uint words = kStore / 4u;
  [[unroll]] for (uint k = 0u; k < (kTileS * chunks + kWorkgroup - 1u) / kWorkgroup; ++k) {
    const uint o = gl_LocalInvocationID.x + k * kWorkgroup, s = o / chunks, place = o % chunks * kPerStore;
    const offset_t row = t.to + offset_t(s) * t.dst_s + offset_t(store_lead());
    const uint skew = kShift != 0u ? uint(row) % kPerStore : 0u;
    const int begin = t.first_row == 0 ? int(skew) - int(place) : -kFar;
    const int end = t.size_d * int(kRun) + int(skew) - int(place);
    if (s < uint(t.size_s) && end > 0) {
      const uint unit = kHalo * kRun + place - skew, bits = 8u * ELEMENT_BYTES * (unit % kPerWord);
      const uint at = staged_at(s, unit / kPerWord);
      uint value = staged[at];
      [[unroll]] for (uint w = 0u; w < words; ++w) {
        if (kShift == 0u || ELEMENT_BYTES == 4) {
          joined[w] = value;
          if (w + 1u < words) value = staged[at + w + 1u];
        } else {
          const uint next = staged[at + w + 1u];
          joined[w] = (value >> bits) | ((next << 1u) << (31u - bits));
          value = next;
        }
      }
      store_joined(row + offset_t(place) - offset_t(skew), words, begin, end);
    }
  }
}

void main() {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count()) return;
  Tile t = locate_tile(id);
  [[unroll]] for (uint k = 0u; k < (kBlocks + kWorkgroup - 1u) / kWorkgroup; ++k) {
    const uint b = gl_LocalInvocationID.x + k * kWorkgroup;
    if (kStaged != 0u) {
      const uint col = b % kBlocksS * kBlockS, d = b / kBlocksS;
      if ((kBlocks % kWorkgroup == 0u || b < kBlocks) && col < uint(t.size_s)) {
        load_block(t, col, int(d * kBlockD) - int(kHalo));
        [[unroll]] for (uint c = 0u; c < kBlockS; ++c)
          [[unroll]] for (uint w = 0u; w < kColWords; ++w)
            staged[staged_at(col + c, d * kColWords + w)] = word_of(c, w + 1u);
      }
    } else {
      // Consecutive invocations take blocks along D: together they fill the destination's cache lines.
      const uint col = b / (kTileD / kBlockD) * kBlockS, d = b % (kTileD / kBlockD) * kBlockD;
      if ((kBlocks % kWorkgroup == 0u || b < kBlocks) && col < uint(t.size_s) && int(d) < t.size_d + int(kFront)) {
        load_block(t, col, int(d) - int(kFront));
        store_columns(t, col, d);
      }
    }
  }
  if (kStaged != 0u) {
    barrier();   // all stores to workgroup memory before loads by other invocations
    store_staged(t);
  }
}
