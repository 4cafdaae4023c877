// What `sectile check` needs of an operation: random problems, what their operands are filled with, and what is right.
#pragma once

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::tools {

// Operands' bytes by name, from each operand's address on.
using OperandData = std::map<std::string, std::span<const std::byte>, std::less<>>;

// One problem as the reference sees it. What is worked out for one run is kept for the next on the same data.
class CheckedProblem {
 public:
  virtual ~CheckedProblem() = default;
  const Problem& problem() const noexcept { return problem_; }

  virtual bool empty() const = 0;               // no element is written
  // What the library says of the problem, against the reference; empty where they agree.
  std::string check_words() const;
  // `bytes` hold the stream `seed` (fill_data); where an operation's elements must be numbers, they are put there.
  virtual void fill(std::string_view operand, std::span<std::byte> bytes, std::uint64_t seed) const = 0;
  // What is wrong with the destination; empty where nothing is. `before`: all operands before the run.
  virtual std::string compare(const OperandData& before, std::uint64_t seed, std::span<const std::byte> got) = 0;
  // Whether two devices' results for the same data, both compared before, differ by more than they may.
  virtual std::string compare_devices(std::span<const std::byte> one, std::span<const std::byte> other) const = 0;
  // Whether an operand's data depends on where it stands in its region, and results only compare where that agrees.
  virtual bool data_by_place() const { return true; }
  // Changes the result so that compare must see it.
  virtual void spoil(std::span<std::byte> destination) const = 0;

  static std::shared_ptr<CheckedProblem> make(const Problem& problem);

 protected:
  explicit CheckedProblem(Problem problem) : problem_(std::move(problem)) {}
  virtual std::string check_sizes(const std::vector<OperandSpec>& operands) const = 0;

 private:
  Problem problem_;
};

// The operations that a check knows: "permute", "matmul".
std::vector<std::string> checked_operations();
Problem generate_problem(std::string_view operation, std::uint64_t seed, std::uint64_t index);
// What decides which candidate is run beside the chosen one: the same for cases that share pipelines.
std::uint64_t problem_kind(const Problem& problem, std::uint64_t index) noexcept;

std::shared_ptr<CheckedProblem> checked_permute(const PermuteProblem& problem);
std::shared_ptr<CheckedProblem> checked_elementwise(const PermuteProblem& problem);   // a permute that has a stage
std::shared_ptr<CheckedProblem> checked_matmul(const MatmulProblem& problem);

}  // namespace sectile::tools
