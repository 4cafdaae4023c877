// Stages the items of one operand of matmul_simt. Included twice by gemm/simt.glsl: gemm/side.glsl says how.
// `k`: the step's first; `left`: how much of K remains from there on; less than TILE_K only where `tail` is set.

void stage_item(Tile t, uint stage, Item item, Place place, uvec4 raw, uint k, uint left, const bool tail) {
  uint at = stage * (kStage / 4u) + item.k / kPacked * (kPitch / 4u) + item.across / 4u, part = item.across % 4u;
#ifdef INTEGER
  // Words of workgroup memory: one where runs lie along K, otherwise one for each row (column) of the run.
  if (kAlongK) {
    uint word = kWidth == 4u   ? raw.x
                : kWidth == 2u ? raw.x | (raw.y << 16)
                               : raw.x | (raw.y << 8) | (raw.z << 16) | (raw.w << 24);
    staged_side[at][part] = int(word);
    return;
  }
  ivec4 words;
  [[unroll]] for (uint i = 0u; i < kWidth; ++i) {
    uvec4 byte = (raw >> (8u * i)) & 255u;
    words[i] = int(byte.x | (byte.y << 8) | (byte.z << 16) | (byte.w << 24));
  }
  if (kWidth == 4u) staged_side[at] = words;
  else
    [[unroll]] for (uint i = 0u; i < kWidth; ++i) staged_side[at][part + i] = words[i];
#else
  float v[MAX_RUN];
  SIDE(convert_item_a(t, item, place, raw, k, !tail || item.k < left, v),
       convert_item_b(t, item, place, raw, k, !tail || item.k < left, v));
  if (kAlongK) {
    [[unroll]] for (uint i = 0u; i < kWidth; ++i) staged_side[at + i * (kPitch / 4u)][part] = v[i];
  } else if (kWidth >= 4u) {
    [[unroll]] for (uint i = 0u; i < kWidth; i += 4u)
      staged_side[at + i / 4u] = vec4(v[i], v[i + 1u], v[i + 2u], v[i + 3u]);
  } else {
    [[unroll]] for (uint i = 0u; i < kWidth; ++i) staged_side[at][part + i] = v[i];
  }
#endif
}

// The items of a step in flight, where there is a prefetch, and their places.
uvec4 prefetched[kPrefetch != 0u ? kLoads : 1u];
Place places[kPrefetch != 0u ? kLoads : 1u];
