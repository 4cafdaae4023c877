// A sweep's matmuls, class by class.
#include "data.hpp"
#include "sweep_draw.hpp"

#include <array>
#include <string_view>

namespace sectile::tools {
namespace {

using reference::Random;

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

std::int64_t width(Random& random) {
  return 64 * draw_size(random, 16, 512);
}

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

std::optional<Drawn<MatmulProblem>> draw_matmul(char letter, std::string_view type, double operations, double bytes,
                                                Random& random) {
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
  Drawn<MatmulProblem> drawn{p, {}};
  if (around != p) drawn.neighbour = around;
  return drawn;
}

}  // namespace sectile::tools
