// Epilogue: v = alpha * scale * acc + beta * C + bias; v = activation(v); v += residual; rounded once.
// ACTIVATION_LAST: v += residual; v = activation(v). Include after gemm/gemm.glsl. INTEGER: accumulators are int; an
// int result supports bias, relu, clamp and residual only.
#include "lib/activation.glsl"

#ifdef INTEGER
#define acc_t int
#else
#define acc_t float
#endif

uint activation_word(const uint i) { return i < kActivationWords ? activation_parameter(i) : 0u; }

// Whether there is a bias, and whether relu is applied: the same for all invocations.
bool has_bias() {
  return kHasBias != 0u && (kPushedEpilogue == 0u || any(notEqual(bias_address(), uvec2(0u))));
}
bool has_relu() { return kPushedEpilogue != 0u ? pushed_relu() != 0u : kActivation == SECTILE_ACTIVATION_RELU; }

float activated(float v) {
  if (kPushedEpilogue != 0u) return has_relu() ? relu(v) : v;
  return activation_of(kActivation, v, uintBitsToFloat(activation_word(0u)), uintBitsToFloat(activation_word(1u)));
}

// Element `at` of a vector of the output type.
float load_out(uvec2 address, uint at) {
  if (kOutType == SECTILE_TYPE_F32) return load_float(address, at);
#ifdef NARROW
  uint bits = uint(Ref2(address).x[at]);
#else
  uint bits = (Ref4(address).x[at / 2u] >> (16u * (at % 2u))) & 0xffffu;
#endif
  return kOutType == SECTILE_TYPE_F16 ? unpackHalf2x16(bits).x : bf16_to_float(bits);
}

// Addresses for a tile's result and the operands of its epilogue; computed once a workgroup.
struct Target {
  uvec2 d, c, residual;    // address of the tile's element (first row, first column)
  uvec2 bias, scale;       // of the batch, from the result's first row (column) on
  uint row, column;        // with flattened columns the column is the first image's first, as it is in the addresses
  uint image;              // with flattened columns: the first column's
};

// A batch's bias or scale, of which `address` is the first batch's. `row_bits`: the epilogue's bits that say that it has
// a value for each row.
uvec2 vector_address(uvec2 address, const uint type, uint batch, const uint row_bits) {
  if ((kEpilogue & GEMM_EPILOGUE_VECTOR_BATCHED) == 0u) return address;
  return add64(address, bytes_of(type, product64(batch, (kEpilogue & row_bits) != 0u ? size_m() : size_n())));
}

Target target_of(Tile t) {
  Target g;
  g.row = t.m;
  g.image = kFlattenedBatch != 0u ? batch_of_column(t.n) : t.batch;
  g.column = kFlattenedBatch != 0u ? g.image * size_n() : t.n;
  uint column = kFlattenedBatch != 0u ? 0u : t.n;
  uvec2 d = batch_address(push.d, kOutType, g.image, d_batch());
  // Partial sums: one M x ldd matrix per split, consecutive.
  if (kSplit != 0u) d = element_address(d, kOutType, t.split * size_m(), ldd(), 0u);
  g.d = element_address(d, kOutType, t.m, ldd(), column);
  g.c = g.d;
  if (kHasC != 0u)
    g.c = element_address(batch_address(c_address(), kOutType, g.image, c_batch()), kOutType, t.m, ldc(), column);
  g.residual = g.d;
  if (kHasResidual != 0u)
    g.residual = element_address(batch_address(residual_address(), kOutType, g.image, r_batch()), kOutType, t.m,
                                 ldr(), column);
  g.bias = g.scale = g.d;
  if (kHasBias != 0u) g.bias = vector_address(bias_address(), kOutType, t.batch, GEMM_EPILOGUE_BIAS_ROW);
  if (kHasScale != 0u) g.scale = vector_address(scale_address(), SECTILE_TYPE_F32, t.batch, GEMM_EPILOGUE_SCALE_ROW);
  return g;
}

#ifdef INTEGER
int activated_int(int v) {
  if (kActivation == SECTILE_ACTIVATION_CLAMP) return clamp(v, int(activation_word(0u)), int(activation_word(1u)));
  return has_relu() ? max(v, 0) : v;
}

int finished_int(Target g, int acc, uint m, uint n, int residual) {
  if (has_bias())
    acc = saturated_sum(acc, int(Ref4(g.bias).x[(kEpilogue & GEMM_EPILOGUE_BIAS_ROW) != 0u ? m : n]));
  acc = activated_int(kActivationLast != 0u ? saturated_sum(acc, residual) : acc);
  return kActivationLast != 0u ? acc : saturated_sum(acc, residual);
}
#endif

float finished_float(Target g, float acc, uint m, uint n, float c, float residual) {
  float v = alpha() * acc;
  if (kHasScale != 0u) v *= load_float(g.scale, (kEpilogue & GEMM_EPILOGUE_SCALE_ROW) != 0u ? m : n);
  if ((kHasC | kHasCIsD) != 0u) v += beta() * c;
  if (has_bias()) v += load_out(g.bias, (kEpilogue & GEMM_EPILOGUE_BIAS_ROW) != 0u ? m : n);
  // One place calls it: an optimizer copies it to each call.
  v = activated(kActivationLast != 0u ? v + residual : v);
  return kActivationLast != 0u ? v : v + residual;
}

#ifdef INTEGER
// A bf16 result that is the sum itself, or its relu, rounds as the exact sum does: a float that does so stands for it.
// What further terms are added to or multiplied with is the nearest float. No branch and no named condition: spirv-opt
// (2026.4) makes invalid modules of either here.
float summed(int acc) {
  uint terms = kHasScale | kHasC | kHasCIsD | kHasResidual | (kActivation & ~uint(SECTILE_ACTIVATION_RELU));
  bool further = any(bvec4(kOutType != SECTILE_TYPE_BF16, terms != 0u, has_bias(), alpha() != 1.0));
  return mix(float_for_bf16(acc), float(acc), further);
}
#else
float summed(float acc) { return acc; }
#endif

float finished(Target g, acc_t acc, uint m, uint n, float c, float residual) {
  return finished_float(g, summed(acc), m, n, c, residual);
}

// Element offset of (m, n) in the tile of an operand. Offsets inside a tile are 32-bit, batch strides too where columns
// are flattened.
uint offset_of(Target g, uint m, uint n, uint ld, uvec2 batch_stride) {
  if (kFlattenedBatch == 0u) return (m - g.row) * ld + n - g.column;
  uint image = batch_of_column(n);
  return (m - g.row) * ld + n - image * size_n() + (image - g.image) * batch_stride.x;
}
uint offset_of_c(Target g, uint m, uint n) {
  return offset_of(g, m, n, kHasC != 0u ? ldc() : ldd(), kHasC != 0u ? c_batch() : d_batch());
}

// Applies the epilogue to kWidthD accumulators of row m from column n on, and stores them. The caller has checked that
// they are inside the result (kWidthD divides N).
void store_run(Target g, uint m, uint n, acc_t acc[MAX_RUN]) {
  const uint bytes = kWidthD * bytes_of_type(kOutType);
  uint at = offset_of(g, m, n, ldd(), d_batch()) * bytes_of_type(kOutType);
  uvec4 raw = uvec4(0u);
#ifdef INTEGER
  if (kOutType == SECTILE_TYPE_I32) {
    uvec4 residual = uvec4(0u);
    if (kHasResidual != 0u) residual = load_raw(g.residual, offset_of(g, m, n, ldr(), r_batch()) * 4u, bytes);
    [[unroll]] for (uint i = 0u; i < min(kWidthD, 4u); ++i)
      raw[i] = uint(finished_int(g, acc[i], m, n + i, int(residual[i])));
    store_raw(g.d, at, bytes, raw);
    return;
  }
#endif
  float c[MAX_RUN], residual[MAX_RUN];
  unpack_run(kOutType, kWidthD, uvec4(0u), c);
  unpack_run(kOutType, kWidthD, uvec4(0u), residual);
  if ((kHasC | kHasCIsD) != 0u)
    unpack_run(kOutType, kWidthD, load_raw(g.c, offset_of_c(g, m, n) * bytes_of_type(kOutType), bytes), c);
  if (kHasResidual != 0u)
    unpack_run(kOutType, kWidthD,
               load_raw(g.residual, offset_of(g, m, n, ldr(), r_batch()) * bytes_of_type(kOutType), bytes),
               residual);
  // The epilogue once, and the packing once: an optimizer copies both to each call.
  float v[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) v[i] = 0.0;
  [[unroll]] for (uint i = 0u; i < kWidthD; ++i) v[i] = finished(g, acc[i], m, n + i, c[i], residual[i]);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    if (kOutType == SECTILE_TYPE_F32) raw[i] = floatBitsToUint(v[i]);
    else if (2u * i < kWidthD) raw[i] = pack_sums(kOutType, v[2u * i], v[2u * i + 1u]);
  }
  store_raw(g.d, at, bytes, raw);
}
