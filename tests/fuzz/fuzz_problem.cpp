// Whatever a problem string or its JSON holds: no crash, and what is accepted means the same when it is
// written again, in either form.
#include "plan/conv2d/problem.hpp"
#include "plan/matmul/problem.hpp"
#include "plan/permute/layout.hpp"

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

void require(bool ok) {
  if (!ok) std::abort();
}

void accepted_permute(const sectile::PermuteProblem& permute, bool valid) {
  const auto bytes = sectile::operand_bytes(permute);
  const auto nest = sectile::detail::loop_nest(permute);
  require(valid == bytes.has_value() && valid == nest.has_value());
  if (!valid) return;
  require(nest->empty || (bytes->src > 0 && bytes->dst > 0));
  require(nest->axes.size() <= 16 && nest->bounds.size() <= 2);
}

// The third operand is the result. Where it has no elements, no operand is accessed.
void accepted_operands(const std::vector<sectile::OperandSpec>& operands, std::string_view result, bool empty) {
  require(operands.size() >= 3 && operands[2].name == result && operands[2].written);
  require((operands[2].bytes == 0) == empty);
  for (const auto& operand : operands) require(!empty || operand.bytes == 0);
}

void accepted_matmul(const sectile::MatmulProblem& matmul, const std::vector<sectile::OperandSpec>& operands) {
  accepted_operands(operands, "d", matmul.m == 0 || matmul.n == 0 || matmul.batch == 0);
  const auto strides = sectile::detail::effective(matmul);
  require(strides.ldd >= matmul.n && strides.lda >= 0 && strides.ldb >= 0);
}

void accepted_conv2d(const sectile::Conv2dProblem& conv2d, const std::vector<sectile::OperandSpec>& operands) {
  accepted_operands(operands, "y", conv2d.n == 0 || conv2d.k == 0);
  const auto size = sectile::output_size(conv2d);
  require(size && size->height >= 0 && size->width >= 0 && size->height < 1ll << 31 && size->width < 1ll << 31);
  const auto x = sectile::detail::strides_of(sectile::detail::stored_x(conv2d));
  require(x.image >= 0 && x.plane >= 0 && x.pixel >= 0 && sectile::detail::sum_length(conv2d) >= 0);
}

// `p`: a problem, or a permute's stage. `added`: whether there is something that the activation may follow.
void accepted_activation(const auto& p, bool added) {
  using enum sectile::Activation;
  require(!p.activation_last || (added && p.activation != none));
  require(p.low <= p.high && (p.activation == clamp || (p.low == 0 && p.high == 0)));
  require((p.activation == leaky_relu) == (p.slope != 0));
}

void accepted(const sectile::Problem& problem) {
  const auto json = sectile::problem_from_json(sectile::to_json(problem));
  require(json && *json == problem);
  const auto ok = sectile::validate(problem);
  const auto operands = sectile::operands_of(problem);
  require(ok.has_value() == operands.has_value());
  if (const auto* permute = std::get_if<sectile::PermuteProblem>(&problem)) accepted_permute(*permute, ok.has_value());
  if (!ok) return;
  if (const auto* permute = std::get_if<sectile::PermuteProblem>(&problem))
    accepted_activation(permute->stage, permute->stage.add);
  if (const auto* matmul = std::get_if<sectile::MatmulProblem>(&problem))
    accepted_activation(*matmul, matmul->residual);
  if (const auto* conv2d = std::get_if<sectile::Conv2dProblem>(&problem))
    accepted_activation(*conv2d, conv2d->residual);
  if (const auto* matmul = std::get_if<sectile::MatmulProblem>(&problem)) accepted_matmul(*matmul, *operands);
  if (const auto* conv2d = std::get_if<sectile::Conv2dProblem>(&problem)) accepted_conv2d(*conv2d, *operands);
  // What is valid can always be said as text.
  const auto text = sectile::parse_problem(sectile::print(problem));
  require(text && *text == problem);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto problem = sectile::parse_problem(text)) {
    const auto again = sectile::parse_problem(sectile::print(*problem));
    require(again && *again == *problem);
    require(sectile::print(*again) == sectile::print(*problem));
  } else {
    require(!problem.error().message().empty());
  }
  if (const auto problem = sectile::parse_problem(text)) accepted(*problem);
  if (const auto problem = sectile::problem_from_json(text)) accepted(*problem);
  return 0;
}
