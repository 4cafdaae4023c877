// One operand of conv2d_coopmat, gathered or stored. Included twice by conv2d_coopmat.comp: gemm/side.abi.h says how.

#if SIDE(IMAGE_SIDE == 0, IMAGE_SIDE == 1)
Source start_of(Tile t) { return start_of_image(t); }
uvec2 step_of() { return uvec2(0u); }             // the image stays where it is from step to step: its taps move on
uvec4 fetch_chunk(Source s, const uint load, uint k, uint left, const bool last) {
#if LOOP == SERIAL
  return finished_chunk(load_image(s, fetched_with(load), k, left, last), load);
#else
  return prefetch_image(s, load, k, left, last);
#endif
}
uvec4 finished_chunk_of(const uint load) { return finished_chunk(prefetched[fetched_with(load)], load); }
uvec2 position_of(uint load) { return image_position(load); }
#else
Source start_of(Tile t) { return stored_start(t); }
uvec2 step_of() { return stored_step(); }
uvec4 fetch_chunk(Source s, const uint load, uint k, uint left, const bool last) {
  return fetch_stored_chunk(s, load, k, left, last);
}
uvec4 finished_chunk_of(const uint load) { return prefetched[load]; }
uvec2 position_of(uint load) { return chunk_position(load, kChunks); }
#endif
