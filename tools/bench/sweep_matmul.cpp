// A sweep's matmuls, class by class.
#include "data.hpp"
#include "matmul.hpp"

#include <array>
#include <string_view>

namespace sectile::tools {
namespace {

using reference::Random;

constexpr std::array<SweepClass, 8> kMatmulClasses = {{
    {'a', "aligned", "squares of 256 to 8192, multiples of 64"},
    {'b', "square", "squares of 256 to 8192, arbitrary"},
    {'c', "rows32", "1 to 32 rows against widths of 1024 to 32768"},
    {'d', "rows512", "33 to 512 rows against the same"},
    {'e', "rows8192", "513 to 8192 rows against the same"},
    {'f', "long-k", "K of 16384 to 1000000, result within 512x2048"},
    {'g', "batch", "batches of 8 to 2048, sizes of 16 to 512"},
    {'h', "epilogue", "d and e with bias, activation and residual"},
}};
constexpr std::array<std::string_view, 7> kMatmulTypes = {"f32", "f16", "bf16", "f16acc", "i8", "q8", "q4"};

void set_type(MatmulProblem& p, std::string_view type) {
  const bool half = type == "f16" || type == "f16acc" || type == "q8" || type == "q4";
  p.type = p.a_type = p.b_type = p.out = half             ? DType::f16
                                         : type == "bf16" ? DType::bf16
                                         : type == "i8"   ? DType::i8
                                                          : DType::f32;
  p.acc = type == "f16acc" ? DType::f16 : type == "i8" ? DType::i32 : DType::f32;
  if (type == "i8") p.out = DType::i32;
  if (type != "q8" && type != "q4") return;
  p.b_type = DType::i8;
  p.b_format = type == "q8" ? WeightFormat::q8 : WeightFormat::q4;
}

std::int64_t width(Random& random) { return 64 * draw_size(random, 16, 512); }

void set_sizes(MatmulProblem& p, char letter, Random& random) {
  switch (letter) {
    case 'a':
      p.m = p.n = p.k = 64 * draw_size(random, 4, 128);
      return;
    case 'b':
      p.m = p.n = p.k = draw_size(random, 256, 8192);
      return;
    case 'f':
      p.m = draw_size(random, 8, 512);
      p.n = draw_size(random, 8, 2048);
      p.k = draw_size(random, 16384, 1000000);
      return;
    case 'g':
      p.batch = draw_size(random, 8, 2048);
      p.m = draw_size(random, 16, 512);
      p.n = draw_size(random, 16, 512);
      p.k = draw_size(random, 16, 512);
      return;
    default:
      break;
  }
  const bool few = letter == 'd' || (letter == 'h' && random.one_in(2));
  p.m = letter == 'c' ? draw_size(random, 1, 32) : few ? draw_size(random, 33, 512) : draw_size(random, 513, 8192);
  p.n = width(random);
  p.k = width(random);
}

// Of int8 to int32 relu is all that there is.
void set_epilogue(MatmulProblem& p, Random& random) {
  constexpr std::array kActivations = {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                       Activation::silu};
  p.bias = random.one_in(4) ? PerAxis::row : PerAxis::column;
  p.activation = kActivations[random.below(p.out == DType::i32 ? 2 : kActivations.size())];
  p.residual = random.one_in(2);
}

}  // namespace

std::span<const SweepClass> matmul_classes() { return kMatmulClasses; }
std::span<const std::string_view> matmul_types() { return kMatmulTypes; }

std::optional<Drawn> draw_matmul(char letter, std::string_view type, double operations, double bytes, Random& random) {
  MatmulProblem p;
  set_type(p, type);
  set_sizes(p, letter, random);
  const auto order = random.below(4);
  const bool q4 = type == "q4";  // B transposed alone
  p.transpose_a = (order & 1) != 0;
  p.transpose_b = q4 || (order & 2) != 0;
  if (letter == 'h') set_epilogue(p, random);
  const auto packed = [&](MatmulProblem& of) {
    if (q4) of.ldb = (of.k + 31) / 32 * 32;
  };
  packed(p);
  if (operations > 0 && operations_of(p) > operations) return std::nullopt;
  if (!validate(Problem(p)) || operand_bytes_of(Problem(p)) > bytes) return std::nullopt;
  MatmulProblem around = p;
  around.m = neighbour_size(p.m);
  around.n = neighbour_size(p.n);
  around.k = neighbour_size(p.k);
  packed(around);
  Drawn drawn{p};
  if (around != p) drawn.neighbour = around;
  return drawn;
}

}  // namespace sectile::tools
