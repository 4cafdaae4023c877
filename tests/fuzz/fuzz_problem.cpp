// Whatever a problem string or its JSON holds: no crash, and what is accepted means the same when it is
// written again, in either form.
#include "../../src/plan/layout.hpp"

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

void require(bool ok) {
  if (!ok) std::abort();
}

void accepted(const sectile::Problem& problem) {
  const auto json = sectile::problem_from_json(sectile::to_json(problem));
  require(json && *json == problem);
  const auto ok = sectile::validate(problem);
  const auto& permute = std::get<sectile::PermuteProblem>(problem);
  const auto bytes = sectile::operand_bytes(permute);
  const auto nest = sectile::detail::loop_nest(permute);
  require(ok.has_value() == bytes.has_value() && ok.has_value() == nest.has_value());
  if (!ok) return;
  // What is valid can always be said as text.
  const auto text = sectile::parse_problem(sectile::print(problem));
  require(text && *text == problem);
  require(nest->empty || (bytes->src > 0 && bytes->dst > 0));
  require(nest->axes.size() <= 16 && nest->bounds.size() <= 2);
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
