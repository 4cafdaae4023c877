// A GEMM on a device: its types and epilogue as the kernels number them, and the accesses that alignment allows.
#include "context.hpp"
#include "kernel_step.hpp"

#include <algorithm>
#include <utility>

namespace sectile::detail {

namespace {

constexpr std::uint32_t kMostWide = 8;  // elements; matmul_coopmat may load more one-byte elements at once

// The bits of the epilogue, and those of the rest of a GEMM.
std::uint32_t epilogue_of(const Gemm& p) {
  return epilogue_bits(p) | (p.a_scale ? GEMM_EPILOGUE_A_SCALE : 0u) | (p.batch > 1 ? GEMM_EPILOGUE_BATCHED : 0u);
}

std::shared_ptr<const GemmOperand> stored_matrix(const Gemm& gemm, bool b, std::uint32_t type) {
  return std::make_shared<StoredMatrix>(gemm, b, type);
}

}  // namespace

std::uint32_t widest_access(std::uint32_t type, std::uint32_t most, std::uint32_t align, std::int64_t ld,
                            std::int64_t batch, std::int64_t side) noexcept {
  const std::uint32_t bytes = type_bytes(type);
  // Rows begin at multiples of 32 elements; the last row ends with the byte of its last element.
  if (type == SECTILE_TYPE_Q4) return align % 4 == 0 && (side + 1) / 2 % 4 == 0 ? 8 : 2;
  std::uint32_t width = std::min(most, 16 / bytes);
  while (width > 1 && (align % (width * bytes) != 0 || ld % width != 0 || batch % width != 0 || side % width != 0))
    width /= 2;
  return width;
}

std::int64_t row_pitch_bytes(const Gemm& g, bool b) noexcept {
  return (b ? g.at.ldb : g.at.lda) * size_bytes(b ? g.b_type : g.a_type);
}

bool rows_at_16_bytes(const Gemm& g, bool b) noexcept {
  const std::int64_t batch = (b ? g.at.b_batch : g.at.a_batch) * size_bytes(b ? g.b_type : g.a_type);
  return (b ? g.b_align : g.a_align) % 16 == 0 && row_pitch_bytes(g, b) % 16 == 0 && (g.batch <= 1 || batch % 16 == 0);
}

GemmContext gemm_context(const Gemm& gemm, const DeviceProfile& profile, const ExtraRows* extra,
                         std::shared_ptr<const GatheredOperand> gathered) {
  GemmContext c{.gemm = gemm,
                .profile = profile,
                .model = cost_model_of(profile),
                .limits = limits_of(profile),
                .a = {},
                .b = {},
                .gathered = gathered.get(),
                .extra = extra};
  Gemm& g = c.gemm;
  // What is not read limits nothing.
  if (!reads_c(g)) g.at.ldc = g.at.ldd;
  if (!g.residual) g.at.ldr = g.at.ldd;
  c.epilogue = epilogue_of(g);
  c.type = type_code(g.type);
  c.a_type = type_code(g.a_type);
  c.b_type = type_code(g.b_type, g.b_format);
  c.out_type = type_code(g.out);
  c.a = c.gathered_side(false) != nullptr ? gathered : stored_matrix(g, false, c.a_type);
  c.b = c.gathered_side(true) != nullptr ? gathered : stored_matrix(g, true, c.b_type);
  c.width_a = c.a->width(kMostWide);
  c.width_b = c.b->width(kMostWide);
  const auto width = [&](std::int64_t ld, std::int64_t batch) {
    return widest_access(c.out_type, kMostWide, g.d_align, ld, g.batch > 1 ? batch : 0, g.n);
  };
  c.width_d = width(g.at.ldd, g.at.d_batch);
  if (reads_c(g) && !g.c_is_d) c.width_d = std::min(c.width_d, width(g.at.ldc, g.at.c_batch));
  if (g.residual) c.width_d = std::min(c.width_d, width(g.at.ldr, g.at.r_batch));
  return c;
}

}  // namespace sectile::detail
