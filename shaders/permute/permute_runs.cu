//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
// Transposes a matrix of short runs, e.g. three-byte pixels when a picture is rotated. Both sides are accessed in whole
// aligned words, wherever a row starts; runs are extracted and joined in registers.
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "permute/permute_runs.abi.h"
#define OWN_WORDS PERMUTE_RUNS_WORDS
#include "permute/permute.cuh"

constexpr uint kRun = sectile_constant(PERMUTE_RUNS_SPEC_RUN, 3u);
constexpr uint kTileS = sectile_constant(PERMUTE_RUNS_SPEC_TILE_S, 64u);
constexpr uint kTileD = sectile_constant(PERMUTE_RUNS_SPEC_TILE_D, 64u);
constexpr uint kBlockS = sectile_constant(PERMUTE_RUNS_SPEC_BLOCK_S, 4u);
constexpr uint kBlockD = sectile_constant(PERMUTE_RUNS_SPEC_BLOCK_D, 4u);
constexpr uint kLoad = sectile_constant(PERMUTE_RUNS_SPEC_LOAD_BYTES, 4u);
constexpr uint kStore = sectile_constant(PERMUTE_RUNS_SPEC_STORE_BYTES, 4u);
constexpr uint kShift = sectile_constant(PERMUTE_RUNS_SPEC_SHIFT, 1u);
constexpr uint kHalo = sectile_constant(PERMUTE_RUNS_SPEC_HALO, 4u);
constexpr uint kStaged = sectile_constant(PERMUTE_RUNS_SPEC_STAGED, 1u);
constexpr uint kSkew = sectile_constant(PERMUTE_RUNS_SPEC_SKEW, 1u);
constexpr uint kSwap = sectile_constant(PERMUTE_RUNS_SPEC_SWAP, 0u);

constexpr uint kPerWord = 4u / ELEMENT_BYTES;                           // units per word
constexpr uint kPerWordShift = kPerWord == 4u ? 2u : kPerWord == 2u ? 1u : 0u;
constexpr uint kStepD = kTileD - kHalo;
constexpr uint kBlocksS = kTileS / kBlockS;
constexpr uint kBlocks = kBlocksS * (kTileD / kBlockD);
constexpr uint kRowWords = kBlockS * kRun / kPerWord;                   // words per row of a block
constexpr uint kColWords = kBlockD * kRun / kPerWord;                   // words per column of a block
// Rows before the block, which supply the leading units of the column's first word.
constexpr uint kFront = kStaged == 0u && kShift != 0u ? (kPerWord - 1u + kRun - 1u) / kRun : 0u;
constexpr uint kRows = kFront + kBlockD;

// Staged tile: row s holds the bytes of its TILE_D runs, adjacent.
constexpr uint kPitch = kTileD * kRun / kPerWord;
// one word past the end is loaded, and not used
SECTILE_SHARED(uint, staged, (kStaged != 0u ? kTileS * kPitch + kBlocksS * kSkew + 1u : 1u));
__device__ __forceinline__ uint staged_at(uint s, uint w) { return s * kPitch + s / kBlockS * kSkew + w; }

struct Held {
  uint word[PERMUTE_RUNS_MAX_WORDS];                            // rows of one block
};
struct Joined {
  uint word[PERMUTE_RUNS_MAX_WORDS];                            // words to store
};

// Accesses are aligned to their own size: offsets in units are relative to the operand's address rounded down to an
// access.
constexpr uint kPerStore = kStore / ELEMENT_BYTES;
__device__ __forceinline__ SectileAddress word_base(const PermutePush& push) {
  return {push.src.lo & ~3u, push.src.hi};
}
__device__ __forceinline__ uint word_lead(const PermutePush& push) { return (push.src.lo & 3u) / ELEMENT_BYTES; }
__device__ __forceinline__ SectileAddress store_base(const PermutePush& push) {
  return {push.dst.lo & ~(kStore - 1u), push.dst.hi};
}
__device__ __forceinline__ uint store_lead(const PermutePush& push) {
  return (push.dst.lo & (kStore - 1u)) / ELEMENT_BYTES;
}

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
__device__ __forceinline__ uint unit_at(const PermutePush& push, offset_t at) {
  return load_bytes(push.src, at, ELEMENT_BYTES)[0];
}

__device__ __forceinline__ offset_t min_offset(offset_t a, offset_t b) { return a < b ? a : b; }
__device__ __forceinline__ offset_t max_offset(offset_t a, offset_t b) { return a < b ? b : a; }

// Loads the source's first and last word, where they lie only partly inside it, in units. Tiles that contain neither
// skip this; all loads stay inside the source either way.
__device__ __forceinline__ void load_ends(const PermutePush& push, Tile& t) {
  const offset_t lead = offset_t(word_lead(push)), units = source_units(push), end = units + lead;
  t.first_whole = lead != 0 ? 1 : 0;
  t.last_whole = (end >> kPerWordShift) - 1;
  t.head = 0u;
  t.tail = 0u;
  if (t.from + offset_t(t.first_row) * t.src_d + lead < offset_t(kPerWord)) {
#pragma unroll
    for (int e = 0; e < int(kPerWord); ++e)
      t.head |= unit_at(push, max_offset(offset_t(e) - lead, offset_t(0))) << (8 * ELEMENT_BYTES * e);
  }
  if (t.from + offset_t(t.size_d - 1) * t.src_d + offset_t(kTileS * kRun + 2u * kPerWord) + lead > end) {
#pragma unroll
    for (int e = 0; e < int(kPerWord); ++e)
      t.tail |= unit_at(push, min_offset(((t.last_whole + 1) << kPerWordShift) + offset_t(e) - lead, units - 1))
                << (8 * ELEMENT_BYTES * e);
  }
}

__device__ __forceinline__ uint fetch(const PermutePush& push, const Tile& t, offset_t w) {
  uint value =
      load_bytes(word_base(push), max_offset(min_offset(w, t.last_whole), t.first_whole) << kPerWordShift, 4u)[0];
  if (w < t.first_whole) value = t.head;
  if (w > t.last_whole) value = t.tail;
  return value;
}
#endif

__device__ __forceinline__ Tile locate_tile(const PermutePush& push, uint id) {
  Tile t = {};
  constexpr uint axis_s = kSwap == 0u ? 0u : 1u;
  t.from = 0; t.to = 0;
  t.size_s = int(kTileS); t.size_d = 0;
  t.first_row = 0;
  t.src_d = kSwap == 0u ? src_stride(push, 1u) : src_stride(push, 0u);
  t.dst_s = kSwap == 0u ? dst_stride(push, 0u) : dst_stride(push, 1u);
#pragma unroll
  for (uint a = 0u; a < kAxes; ++a) {
    uint digit = take_digit(push, id, a);
    uint step = 1u;
    if (a < 2u) {
      step = a == axis_s ? kTileS : kStepD;
      if (a == axis_s) {
        if (digit + 1u == axis_count(push, a)) t.size_s = int(last_s(push));
      } else {
        t.size_d = int(min(runs_d(push) - digit * kStepD + 2u * kStepD, 4u * kStepD)) - 2 * int(kStepD);
        if (digit != 0u) t.first_row = -int(kStaged != 0u ? kHalo : kFront);
      }
    }
    t.from += offset_t(digit * step) * src_stride(push, a);
    t.to += offset_t(digit * step) * dst_stride(push, a);
  }
#if ELEMENT_BYTES < 4
  if (kLoad == 0u) load_ends(push, t);
#endif
  return t;
}

__device__ __forceinline__ int row_inside(const Tile& t, int row) {
  return row < t.first_row ? t.first_row : row < t.size_d ? row : t.size_d - 1;
}

// Loads the rows of the block whose first run along S is `col`, from row `row` on. Rows and columns outside the problem
// are clamped to the last ones inside: the clamped values are never stored, and the loads need no branch.
__device__ __forceinline__ void load_block(const PermutePush& push, const Tile& t, uint col, int row, Held& held) {
#pragma unroll
  for (uint r = 0u; r < kRows; ++r) {
    const offset_t start = t.from + offset_t(row_inside(t, row + int(r))) * t.src_d;
    if (kLoad == 0u) {
#if ELEMENT_BYTES < 4
      const offset_t at = start + offset_t(col * kRun + word_lead(push));
      const offset_t first = at >> kPerWordShift;
      const uint shift = 8u * ELEMENT_BYTES * (uint(at) % kPerWord);
      uint value = fetch(push, t, first);
#pragma unroll
      for (uint w = 0u; w < kRowWords; ++w) {
        const uint next = fetch(push, t, first + offset_t(w + 1u));
        // The shift by 32 minus the offset is split in two: a single shift by 32 is undefined.
        held.word[r * kRowWords + w] = (value >> shift) | ((next << 1u) << (31u - shift));
        value = next;
      }
#endif
    } else {
      const uint per = kLoad / ELEMENT_BYTES;
      const uint last = uint(t.size_s) * kRun - per;
#pragma unroll
      for (uint k = 0u; k < kRowWords * 4u / (kLoad == 0u ? 4u : kLoad); ++k) {
        const uvec4 v = load_bytes(push.src, start + offset_t(min(col * kRun + k * per, last)), kLoad);
#pragma unroll
        for (uint w = 0u; w < kLoad / 4u; ++w) held.word[r * kRowWords + k * (kLoad / 4u) + w] = v[w];
      }
    }
  }
}

// Word w of column c of the block. Word 0 is the one before the block's first run. Arguments are constant after
// unrolling.
__device__ __forceinline__ uint word_of(const Held& held, const uint c, const uint w) {
  uint value = 0u;
#pragma unroll
  for (uint e = 0u; e < kPerWord; ++e) {
    const uint at = w * kPerWord + e + kFront * kRun;
    if (at >= kPerWord) {
      const uint row = (at - kPerWord) / kRun, unit = c * kRun + (at - kPerWord) % kRun;
#if ELEMENT_BYTES == 4
      value = held.word[row * kRowWords + unit];
#else
      value |= ((held.word[row * kRowWords + unit / kPerWord] >> (8u * ELEMENT_BYTES * (unit % kPerWord))) &
                (0xffffffffu >> (32u - 8u * ELEMENT_BYTES))) << (8u * ELEMENT_BYTES * e);
#endif
    }
  }
  return value;
}

// Joins column c of the block into the words to store, where `skew` units of the first word precede its first run.
__device__ __forceinline__ void join_column(const Held& held, const uint c, uint skew, Joined& joined) {
  uint front = word_of(held, c, 0u);
  const uint bits = 8u * ELEMENT_BYTES * skew;
#pragma unroll
  for (uint w = 0u; w < kColWords; ++w) {
    const uint next = word_of(held, c, w + 1u);
    // The shift by 32 minus the offset is split in two: a single shift by 32 is undefined.
    joined.word[w] = kShift == 0u ? next : (next << bits) | ((front >> 1u) >> (31u - bits));
    front = next;
  }
}

// Words to store, from `first` on, as one access.
__device__ __forceinline__ uvec4 access_of(const Joined& joined, const uint first) {
  uvec4 v = {};
#pragma unroll
  for (uint w = 0u; w < kStore / 4u; ++w) v[w] = joined.word[first + w];
  return v;
}

// Stores `words` joined words at unit offset `at`, where an access starts. Units from `begin` to `end` belong to the
// row; only these are written.
__device__ __forceinline__ void store_joined(const PermutePush& push, const Joined& joined, offset_t at,
                                             const uint words, int begin, int end) {
  if (begin <= 0 && end >= int(words * kPerWord)) {
#pragma unroll
    for (uint k = 0u; k < words * 4u / kStore; ++k)
      store_bytes(store_base(push), at + offset_t(k * kPerStore), kStore, access_of(joined, k * (kStore / 4u)));
    return;
  }
#pragma unroll
  for (uint w = 0u; w < words; ++w) {
    const int first = int(w * kPerWord);
    if (begin <= first && end >= first + int(kPerWord)) {
      store_bytes(store_base(push), at + offset_t(first), 4u, words_of(joined.word[w]));
#if ELEMENT_BYTES < 4
    } else {
#pragma unroll
      for (int e = 0; e < int(kPerWord); ++e) {
        if (first + e >= begin && first + e < end)
          store_bytes(store_base(push), at + offset_t(first + e), ELEMENT_BYTES,
                      words_of(joined.word[w] >> (8 * ELEMENT_BYTES * e)));
      }
#endif
    }
  }
}

constexpr int kFar = 0x3fffffff;

// Stores the block's columns directly. `d` is its first run along D.
__device__ __forceinline__ void store_columns(const PermutePush& push, const Tile& t, const Held& held, uint col,
                                              uint d) {
#pragma unroll
  for (uint c = 0u; c < kBlockS; ++c) {
    const offset_t row = t.to + offset_t(col + c) * t.dst_s + offset_t(d * kRun) + offset_t(store_lead(push));
    const uint skew = kShift != 0u ? uint(row) % kPerStore : 0u;
    Joined joined;
    join_column(held, c, skew, joined);
    const int begin = t.first_row == 0 && d == 0u ? 0 : -kFar;
    const int end = (t.size_d - int(d)) * int(kRun);
    if (col + c < uint(t.size_s))
      store_joined(push, joined, row - offset_t(skew), kColWords, begin + int(skew), end + int(skew));
  }
}

// Stores the rows of the staged tile.
__device__ __forceinline__ void store_staged(const PermutePush& push, const Tile& t) {
  const uint chunks = kStepD * kRun / kPerStore;   // accesses per row
  const uint words = kStore / 4u;
#pragma unroll
  for (uint k = 0u; k < (kTileS * chunks + kWorkgroup - 1u) / kWorkgroup; ++k) {
    const uint o = threadIdx.x + k * kWorkgroup, s = o / chunks, place = o % chunks * kPerStore;
    const offset_t row = t.to + offset_t(s) * t.dst_s + offset_t(store_lead(push));
    const uint skew = kShift != 0u ? uint(row) % kPerStore : 0u;
    const int begin = t.first_row == 0 ? int(skew) - int(place) : -kFar;
    const int end = t.size_d * int(kRun) + int(skew) - int(place);
    if (s < uint(t.size_s) && end > 0) {
      const uint unit = kHalo * kRun + place - skew, bits = 8u * ELEMENT_BYTES * (unit % kPerWord);
      const uint at = staged_at(s, unit / kPerWord);
      Joined joined;
      uint value = staged[at];
#pragma unroll
      for (uint w = 0u; w < words; ++w) {
        if (kShift == 0u || ELEMENT_BYTES == 4) {
          joined.word[w] = value;
          if (w + 1u < words) value = staged[at + w + 1u];
        } else {
          const uint next = staged[at + w + 1u];
          joined.word[w] = (value >> bits) | ((next << 1u) << (31u - bits));
          value = next;
        }
      }
      store_joined(push, joined, row + offset_t(place) - offset_t(skew), words, begin, end);
    }
  }
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  const uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count(push)) return;
  const Tile t = locate_tile(push, id);
#pragma unroll
  for (uint k = 0u; k < (kBlocks + kWorkgroup - 1u) / kWorkgroup; ++k) {
    const uint b = threadIdx.x + k * kWorkgroup;
    if (kStaged != 0u) {
      const uint col = b % kBlocksS * kBlockS, d = b / kBlocksS;
      if ((kBlocks % kWorkgroup == 0u || b < kBlocks) && col < uint(t.size_s)) {
        Held held;
        load_block(push, t, col, int(d * kBlockD) - int(kHalo), held);
#pragma unroll
        for (uint c = 0u; c < kBlockS; ++c)
#pragma unroll
          for (uint w = 0u; w < kColWords; ++w)
            staged[staged_at(col + c, d * kColWords + w)] = word_of(held, c, w + 1u);
      }
    } else {
      // Consecutive invocations take blocks along D: together they fill the destination's cache lines.
      const uint col = b / (kTileD / kBlockD) * kBlockS, d = b % (kTileD / kBlockD) * kBlockD;
      if ((kBlocks % kWorkgroup == 0u || b < kBlocks) && col < uint(t.size_s) && int(d) < t.size_d + int(kFront)) {
        Held held;
        load_block(push, t, col, int(d) - int(kFront), held);
        store_columns(push, t, held, col, d);
      }
    }
  }
  if (kStaged != 0u) {
    __syncthreads();   // all stores to workgroup memory before loads by other invocations
    store_staged(push, t);
  }
}
