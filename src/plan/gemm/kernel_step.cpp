// What steps have in common whose kernels have a GEMM's interface.
#include "kernel_step.hpp"
#include "context.hpp"
#include "plan/access/limits.hpp"

#include <fmt/format.h>

namespace sectile::detail {

namespace {

bool is_narrow(std::uint32_t type, std::uint32_t width) { return width * type_bytes(type) < 4; }
bool is_half(std::uint32_t type) { return type == SECTILE_TYPE_F16 || type == SECTILE_TYPE_BF16; }

// The kernels know the enumeration by its numbers.
static_assert(static_cast<int>(Activation::relu) == SECTILE_ACTIVATION_RELU);
static_assert(static_cast<int>(Activation::silu) == SECTILE_ACTIVATION_SILU);
static_assert(static_cast<int>(Activation::leaky_relu) == SECTILE_ACTIVATION_LEAKY_RELU);
static_assert(static_cast<int>(Activation::clamp) == SECTILE_ACTIVATION_CLAMP);
static_assert(static_cast<int>(Activation::tanh) == SECTILE_ACTIVATION_TANH);

}  // namespace

std::uint32_t type_code(DType type, WeightFormat format) noexcept {
  if (format != WeightFormat::plain) return format == WeightFormat::q4 ? SECTILE_TYPE_Q4 : SECTILE_TYPE_Q8;
  return type_code(type);
}

std::uint32_t epilogue_bits(const GemmEpilogue& p) noexcept {
  std::uint32_t bits = static_cast<std::uint32_t>(p.activation) << GEMM_EPILOGUE_ACTIVATION_SHIFT;
  if (p.activation_last) bits |= GEMM_EPILOGUE_ACTIVATION_LAST;
  if (reads_c(p)) bits |= p.c_is_d ? GEMM_EPILOGUE_C_IS_D : GEMM_EPILOGUE_C;
  if (p.bias != PerAxis::none) bits |= p.bias == PerAxis::row ? GEMM_EPILOGUE_BIAS_ROW : GEMM_EPILOGUE_BIAS_COLUMN;
  if (p.scale != PerAxis::none) bits |= p.scale == PerAxis::row ? GEMM_EPILOGUE_SCALE_ROW : GEMM_EPILOGUE_SCALE_COLUMN;
  if (p.residual) bits |= GEMM_EPILOGUE_RESIDUAL;
  if (p.vectors_batched) bits |= GEMM_EPILOGUE_VECTOR_BATCHED;
  return bits;
}

bool needs_narrow(const KernelTypes& types, const KernelWidths& widths, std::uint32_t epilogue, bool loads) noexcept {
  const bool bias = (epilogue & (GEMM_EPILOGUE_BIAS_ROW | GEMM_EPILOGUE_BIAS_COLUMN)) != 0;
  const bool loads_narrow =
      loads && (is_narrow(types.a, widths.a) || is_narrow(types.b, widths.b) || types.b == SECTILE_TYPE_Q4);
  return loads_narrow || is_narrow(types.out, widths.d) || (bias && is_half(types.out));
}

std::uint32_t absent_access(const DeviceProfile& profile, std::string_view variant, bool integer) noexcept {
  if (!variant.ends_with(".narrow")) return 0;
  // The float kernels extract a byte from an access of two (NO_BYTES in shaders/lib/numbers.glsl).
  if (!profile.storage16.value_or(false)) return 2;
  return integer && !profile.storage8.value_or(false) ? 1 : 0;
}

bool narrow_accesses_fit(const DeviceProfile& profile, std::string_view variant, bool integer, Refusal& refusal) {
  const std::uint32_t absent = absent_access(profile, variant, integer);
  return absent == 0 || refusal.no("needs accesses of {}, which the device lacks", absent == 1 ? "1 byte" : "2 bytes");
}

Result<std::array<std::uint32_t, 3>> kernel_grid(const DeviceProfile& profile, std::uint64_t groups) {
  if (groups >= kMaxIds) return fail(ErrorKind::limit_exceeded, "workgroups", fmt::format("{}", groups), "2^31 - 1");
  return fold_grid(groups, profile);
}

void add_constants(Step& step, const DeviceProfile& profile, std::uint32_t workgroup, const KernelTypes& types,
                   const KernelWidths& widths, std::uint32_t epilogue) {
  step.constants.insert(step.constants.end(), {{SECTILE_SPEC_WORKGROUP, workgroup},
                                               {GEMM_SPEC_TYPE, types.type},
                                               {GEMM_SPEC_A_TYPE, types.a},
                                               {GEMM_SPEC_B_TYPE, types.b},
                                               {GEMM_SPEC_OUT_TYPE, types.out},
                                               {GEMM_SPEC_EPILOGUE, epilogue},
                                               {GEMM_SPEC_WIDTH_A, widths.a},
                                               {GEMM_SPEC_WIDTH_B, widths.b},
                                               {GEMM_SPEC_WIDTH_D, widths.d}});
  const auto made = [&](std::uint32_t type) { return types.type == type || types.out == type; };
  const std::uint32_t numbers = integer_numbers(profile, made(SECTILE_TYPE_F16), made(SECTILE_TYPE_BF16));
  if (numbers != 0) step.constants.push_back({SECTILE_SPEC_NUMBERS, numbers});
}

}  // namespace sectile::detail
