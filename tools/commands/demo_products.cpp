#include "demo_products.hpp"

#include "cli/run_problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sectile::tools {

std::vector<float> as_floats(std::span<const std::byte> bytes) {
  std::vector<float> out;
  out.reserve(bytes.size());
  for (const std::byte byte : bytes) out.push_back(static_cast<float>(std::to_integer<int>(byte)));
  return out;
}

std::byte as_byte(float value) { return static_cast<std::byte>(std::lround(std::clamp(value, 0.0f, 255.0f))); }

Result<CheckedValues> run_compared(Machine& machine, const Problem& problem, const reference::ProductData& data,
                                   const reference::ProductPlaces& places,
                                   std::span<const reference::ProductElement> want) {
  const auto operands = operands_of(problem);
  if (!operands) return std::unexpected(operands.error());
  std::vector<std::span<const std::byte>> inputs;
  for (const OperandSpec& operand : *operands) {
    const auto found = data.find(operand.name);
    inputs.push_back(found == data.end() ? std::span<const std::byte>() : found->second);
  }
  const auto ran = run_problem(machine, problem, inputs);
  if (!ran) return std::unexpected(ran.error());
  const std::vector<std::byte> before(ran->bytes.size());
  if (const auto wrong = reference::compare(places, want, before, ran->bytes))
    return fail(ErrorKind::device, "wrong result: " + print(problem), wrong->message);
  CheckedValues checked{std::vector<float>(ran->bytes.size() / sizeof(float)), print(ran->plan), 0};
  std::memcpy(checked.values.data(), ran->bytes.data(), ran->bytes.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double have = checked.values[static_cast<std::size_t>(places.index(i))];
    checked.worst = std::max(checked.worst, std::fabs(have - want[i].value) / want[i].tolerance);
  }
  return checked;
}

}  // namespace sectile::tools
