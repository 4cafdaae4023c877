// Runs of axes that ragged transposes have, D along the destination and S along the source, and where a tile lies in
// them; permute_ragged.abi.h describes both. Before it come permute/permute.glsl and the constants kTileD, kColumns,
// kLanesD, kPacked, kInner, kSector and kPositions, the elements of a store.

// Digits of an index of D or S: of its inner axes, then of the outermost.
struct Digits {
  uint inner[2], outer;
};

Digits digits_of(uint index, const bool d) {
  Digits g;
  [[unroll]] for (uint i = 0u; i < 2u; ++i) {
    g.inner[i] = 0u;
    if (i < kInner) {
      const uint size = d ? inner_sizes(i) & 0xffffu : inner_sizes(i) >> 16u;
      g.inner[i] = index % size;
      index /= size;
    }
  }
  g.outer = index;
  return g;
}

// `n` indices after `g`, fewer than 2^16.
Digits advance(Digits g, uint n, const bool d) {
  [[unroll]] for (uint i = 0u; i < 2u; ++i) {
    if (i < kInner) {
      const uint size = d ? inner_sizes(i) & 0xffffu : inner_sizes(i) >> 16u, sum = g.inner[i] + n;
      const Divisor by = Divisor(size, d ? multiplier_d(i) : multiplier_s(i));
      n = divide(sum, by);
      g.inner[i] = sum - n * size;
    }
  }
  g.outer += n;
  return g;
}

// Elements from where all digits are 0: in the source for D, in the destination for S.
offset_t offset_of(Digits g, const bool d) {
  offset_t at = offset_t(g.outer) * (d ? src_stride(0u) : dst_stride(1u));
  [[unroll]] for (uint i = 0u; i < 2u; ++i)
    if (i < kInner) at += offset_t(g.inner[i]) * (d ? inner_src(i) : inner_dst(i));
  return at;
}

// The same `n` indices after `g`.
offset_t after(Digits g, uint n, const bool d) { return offset_of(advance(g, n, d), d); }

// Positions of a row of the destination before the first sector.
uint skip_of(offset_t row) { return (0u - uint(row)) & (kSector - 1u); }

// The first position of the invocation's access `u` of a column.
int position_of(uint skip, uint u) {
  return int(skip + (gl_LocalInvocationID.x % kLanesD + u * kLanesD) * kPositions);
}

// Where a tile begins along D and along S. Leaves in `id` the tile's number along the other axes.
struct Start {
  uint d, s;
};

Start take_tile(inout uint id) {
  uint at_d, at_s;
  if (s_first() != 0u) {
    const uint rest = divide_by_count(id, 1u);
    at_s = id - rest * axis_count(1u);
    id = divide_by_count(rest, 0u);
    at_d = rest - id * axis_count(0u);
  } else {
    at_d = take_digit(id, 0u);
    at_s = take_digit(id, 1u);
  }
  return Start(at_d * kTileD, at_s * (kPacked != 0u ? tile_s() : kColumns));
}
