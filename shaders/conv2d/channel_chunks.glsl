// How conv2d_coopmat loads chunks of an image that is contiguous along channels. Include after
// gemm/coopmat_fetch.glsl and conv2d/gather.glsl; conv2d/pixel_chunks.glsl has the same functions.

const uint kImageLoads = kGatheredSide == 0u ? kLoadsA : kLoadsB;
const uint kImageChunks = kGatheredSide == 0u ? kChunksA : kChunksB;
const uint kImageLines = kGatheredSide == 0u ? kLinesA : kLinesB;
const bool kRawImage = kImageType == kType && kPrologue == 0u;
const uint kTapsOfChunk = kUniform != 0u ? 1u : kChunkElements / kImageWidth;
// Chunks of the type that is multiplied that lie in one tap get their prologue and their zeros when they are staged,
// not when they are loaded: a load whose value is looked at is waited for.
const uint kMostLate = kTapsOfChunk == 1u ? 32u : 0u;          // a bit each
#if BYTES == 2
const bool kLate = kImageType == kType && kImageLoads <= kMostLate;
#else
const bool kLate = kRawImage && kImageLoads <= kMostLate;
#endif
// All chunks of an invocation have the same channels.
const bool kOneColumn = kWorkgroup % kImageChunks == 0u;

Place chunk_places[kImageLoads];
uint inside_image;              // bit i: load i is inside the image
uint chunk_channel[kOneColumn ? 1u : kImageLoads];             // the first of load i, with a prologue
float chunk_scale[MAX_RUN], chunk_bias[MAX_RUN];               // of the chunk that is staged
uint first_channel;             // of the group, counted as x.scale and x.bias are

Source first_of_image(Tile t) {
  locate_image(t);
  first_channel = kGatheredSide == 0u ? t.batch * group_inputs() : 0u;
  inside_image = 0u;
  uint first = kGatheredSide == 0u ? t.m : t.n, last = (kGatheredSide == 0u ? size_m() : columns()) - 1u;
  [[unroll]] for (uint i = 0u; i < kImageLoads; ++i) {
    uvec2 p = chunk_position(i, kImageChunks);
    chunk_places[i] = place_of_pixel(min(first + min(p.x, kImageLines - 1u), last), p.y * kChunkElements);
  }
  return Source(image_base, 0u, 0u);
}

// What is staged of a chunk.
uvec4 finished_chunk(uvec4 words, const uint load) {
  if (!kLate) return words;
  if (kPrologue != 0u) {
    if (load == 0u || !kOneColumn) {
      uint c = chunk_channel[kOneColumn ? 0u : load];
      [[unroll]] for (uint e = 0u; e < MAX_RUN; ++e) {
        chunk_scale[e] = prologue_scale(c + e);
        chunk_bias[e] = prologue_bias(c + e);
      }
    }
    float v[MAX_RUN];
    unpack_run(kType, kChunkElements, words, v);
    [[unroll]] for (uint e = 0u; e < MAX_RUN; ++e) v[e] = with_prologue(v[e], chunk_scale[e], chunk_bias[e]);
    words = packed(v);
  }
  return mix(uvec4(0u), words, bvec4(((inside_image >> load) & 1u) != 0u));
}

// Loads a chunk of the image. Outside the image, and beyond K, the image's first element is loaded instead.
uvec4 load_image(Source s, uint load, uint k, uint left, const bool last) {
  uint column = chunk_position(load, kImageChunks).y * kChunkElements;
  Place place = chunk_places[load];
  uvec4 words = uvec4(0u);
  float v[MAX_RUN];
  float all[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < kChunkElements / kImageWidth; ++i) {
    uint along = column + i * kImageWidth;
    Tap tap = tap_of_item(k, along);
    bool inside = has_tap(place, tap) && (!last || along < left);
    uint at = place.at + tap.at + (kUniform != 0u ? channel_at(i * kImageWidth) : 0u);
    uvec4 raw = load_raw(s.base, inside ? run_at(kImageType, at) : 0u, run_bytes(kImageType, kImageWidth));
    if (kLate) {
      if (i == 0u) inside_image = (inside_image & ~(1u << load)) | (inside ? 1u << load : 0u);
      // Beyond K there are no channels.
      if (i == 0u && kPrologue != 0u)
        chunk_channel[kOneColumn ? 0u : load] =
            first_channel + (!last || along < left ? tap.c + (kUniform != 0u ? along : 0u) : 0u);
      insert_run(words, raw, i * kImageWidth, kImageWidth);
    } else if (kRawImage) {
      insert_run(words, mix(uvec4(0u), raw, bvec4(inside)), i * kImageWidth, kImageWidth);
    } else {
      convert_image(raw, first_channel + tap.c + (kUniform != 0u ? along : 0u), inside, true, v);
      [[unroll]] for (uint e = 0u; e < min(kImageWidth, 8u); ++e) all[(i * kImageWidth + e) % MAX_RUN] = v[e];
    }
  }
  return kRawImage || kLate ? words : packed(all);
}

#define prefetch_image load_image
#define fetched_with(load) load         // the load that loads what this one stages
#define image_position(load) chunk_position(load, kImageChunks)
