// Stores a subgroup's accumulator fragments: each subgroup stages STORE_M x STORE_N of its tile at a time in its own
// part of workgroup memory, then loads runs from there, applies the epilogue and stores them.
// Include after gemm/epilogue.glsl. The including kernel (matmul_coopmat) defines acc[kFragsM][kFragsN],
// load_chunk(), SubgroupTile and the sizes.

// Row pitch in 16-byte chunks. Where accumulators have 4 bytes, a fragment store writes 8 bytes an invocation, four
// rows at once. Two chunks of padding put these rows in different banks (f16 n = 1024: 14.75 us with them, 15.1
// without; H200, driver 580.159.04).
const uint kStorePitch = kStoreN * ACC_BYTES / 16u + ACC_BYTES / 2u;
const uint kSubs = kTileM / kSubM * (kTileN / kSubN);        // subgroups per slice of K
const uint kSliceChunks = kSubs * kStoreM * kStorePitch;

acc_t sum_at(uint chunk, const uint element) {
#if ACC_BYTES == 2
  return unpackHalf2x16(load_chunk(chunk + element / 8u)[element % 8u / 2u])[element % 2u];
#elif defined(INTEGER)
  return int(load_chunk(chunk + element / 4u)[element % 4u]);
#else
  return uintBitsToFloat(load_chunk(chunk + element / 4u)[element % 4u]);
#endif
}

// Loads four accumulators of a chunk, and adds those of all slices of K.
void sum_slices(uint chunk, const uint first, out acc_t v[4]) {
  [[unroll]] for (uint e = 0u; e < 4u; ++e) v[e] = sum_at(chunk, first + e);
  [[unroll]] for (uint s = 1u; s < kSliceK; ++s)
    [[unroll]] for (uint e = 0u; e < 4u; ++e) v[e] += sum_at(chunk + s * kSliceChunks, first + e);
}

// Loads a run of staged accumulators, applies the epilogue and stores the run.
void store_staged(Target target, uint chunk, uint column, uint m, uint n) {
  const uint sum_elements = 16u / ACC_BYTES;
  acc_t v[MAX_RUN];
  if (kWidthD == 8u) {
    // 4-byte accumulators of a run fill two chunks. Four of every eight invocations load the second chunk first, so
    // that the eight access different banks.
    const uint step = 4u * ACC_BYTES / 16u;
    uint swapped = ACC_BYTES == 4u ? (gl_SubgroupInvocationID >> 2) & 1u : 0u;
    acc_t first_loaded[4], second_loaded[4];
    sum_slices(chunk + swapped, 0u, first_loaded);
    sum_slices(chunk + step - swapped, 4u - 4u * step, second_loaded);
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
      v[e] = swapped == 0u ? first_loaded[e] : second_loaded[e];
      v[e + 4u] = swapped == 0u ? second_loaded[e] : first_loaded[e];
    }
  } else {
    [[unroll]] for (uint e = 0u; e < MAX_RUN; ++e) {
      v[e] = acc_t(0);
      if (e < kWidthD) {
        // A run shorter than a chunk may start inside one.
        uint inside = kWidthD < sum_elements ? column % sum_elements + e : e;
        v[e] = sum_at(chunk, inside);
        [[unroll]] for (uint s = 1u; s < kSliceK; ++s) v[e] += sum_at(chunk + s * kSliceChunks, inside);
      }
    }
  }
  store_run(target, m, n, v);
}

// Orders a subgroup's accesses to staged accumulators: within the subgroup, or across all subgroups where other slices
// of K read them too.
void order_results() {
  if (kSliceK > 1u) {
    barrier();
  } else {
    subgroupMemoryBarrierShared();
    subgroupBarrier();
  }
}

// Stores the tile part by part. The subgroups of all slices of K divide a part's runs among them.
void store_tile(Tile t, SubgroupTile sub) {
  Target target = target_of(t);
  const uint runs = kStoreN / kWidthD, sum_elements = 16u / ACC_BYTES;
  const uint frags_m = kStoreM / kFragM, frags_n = kStoreN / kFragN, parts_n = kSubN / kStoreN,
             parts = kSubM / kStoreM * parts_n;
  uint own = gl_SubgroupID * kStoreM * kStorePitch, base = gl_SubgroupID % kSubs * kStoreM * kStorePitch;
  uint part = 0u;
  // Fragment arrays need constant indices. So the loop over parts is not unrolled; it selects the fragments of its part
  // by comparison, and the long epilogue code appears once.
  do {
    [[unroll]] for (uint i = 0u; i < kFragsM; ++i)
      [[unroll]] for (uint first = 0u; first < parts_n; ++first)
        if (part == i / frags_m * parts_n + first)
          [[unroll]] for (uint j = 0u; j < frags_n; ++j)
            coopMatStore(acc[i][first * frags_n + j], staged,
                         (own + i % frags_m * kFragM * kStorePitch + j * kFragN / sum_elements) * PER_CHUNK,
                         kStorePitch * PER_CHUNK, gl_CooperativeMatrixLayoutRowMajor);
    order_results();                 // orders fragment stores before other invocations' loads
    uint run = gl_SubgroupInvocationID + gl_SubgroupID / kSubs * kSubgroup;
    do {
      uint row = run / runs, column = run % runs * kWidthD;
      uint m = t.m + sub.m + part / parts_n * kStoreM + row, n = t.n + sub.n + part % parts_n * kStoreN + column;
      if (row < kStoreM && m < size_m() && n < columns())
        store_staged(target, base + row * kStorePitch + column / sum_elements, column, m, n);
      run += kSubgroup * kSliceK;
    } while (run < kStoreM * runs);
    order_results();                 // orders these loads before the next part's stores
    ++part;
  } while (part < parts);
}
