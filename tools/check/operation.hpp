// What `sectile check` needs of an operation: random problems, what their operands are filled with, and what is right.
#pragma once

#include "big.hpp"

#include <sectile/plan.hpp>
#include <sectile/problem.hpp>
#include <sectile/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sectile::tools {

// Operands' bytes by name, from each operand's address on.
using OperandData = std::map<std::string, std::span<const std::byte>, std::less<>>;

// One problem as the reference sees it. What is worked out for one run is kept for the next on the same data.
class CheckedProblem {
 public:
  virtual ~CheckedProblem() = default;
  const Problem& problem() const noexcept { return problem_; }

  virtual bool empty() const = 0;  // no element is written
  // What the library says of the problem, against the reference; empty where they agree.
  std::string check_words() const;
  // `bytes` hold the stream `seed` (fill_data); where an operation's elements must be numbers, they are put there.
  virtual void fill(std::string_view operand, std::span<std::byte> bytes, std::uint64_t seed) const = 0;
  // What is wrong with the destination; empty where nothing is. `before`: all operands before the run.
  virtual std::string compare(const OperandData& before, std::uint64_t seed, std::span<const std::byte> got) = 0;
  // Whether two devices' results for the same data, both compared before, differ by more than they may.
  virtual std::string compare_devices(std::span<const std::byte> one, std::span<const std::byte> other) const = 0;
  // What `seed` stands for in fill and compare: one run each. `every`: all kinds of data; otherwise as many as a run of
  // many cases takes. `ends`: numbers at the ends of their types too.
  virtual std::vector<std::uint64_t> data_sets(std::uint64_t seed, bool, bool) const { return {seed}; }
  // Whether an operand's data depends on where it stands in its region, and results only compare where that agrees.
  virtual bool data_by_place() const { return true; }
  // Changes the result so that compare must see it.
  virtual void spoil(std::span<std::byte> destination) const = 0;

 protected:
  explicit CheckedProblem(Problem problem) : problem_(std::move(problem)) {}
  virtual std::string check_sizes(const std::vector<OperandSpec>& operands) const = 0;

 private:
  Problem problem_;
};

// A generated problem, and what is to run it.
struct CheckCase {
  Problem problem;
  // This candidate, or one whose name begins so; a device may have none. Empty: the chosen one and another.
  std::string candidate;
  // Planned as for a device without products of four bytes, or with so many multiprocessors (0: as it is): a CPU driver
  // says of the one that it has them, and of the other nothing, so that no K would be split.
  bool without_dot = false;
  std::uint32_t multiprocessors = 0;
  bool few_pipelines = false;                           // planned so
  std::optional<std::uint64_t> max_scratch_bytes = {};  // planned with so much scratch, so that images are in parts
  bool without_workgroup8 = false;  // planned as for a device without accesses of 8 bits in workgroup memory
};

// One file an operation: permute.cpp, matmul.cpp, conv2d.cpp.
class CheckOperation {
 public:
  virtual ~CheckOperation() = default;
  virtual std::shared_ptr<CheckedProblem> checked(const Problem& problem) const = 0;
  // `words`: for a device without accesses of 1 and 2 bytes.
  virtual CheckCase generate(std::uint64_t seed, std::uint64_t index, bool words) const = 0;
  // What a device lacks that may have no plan for the problem; empty: it must have one.
  virtual std::string lack(const Problem&, const DeviceProfile&) const { return {}; }

  // Whether its kernels form an address of two words for each lane, whatever the candidate.
  virtual bool far_addresses(const Problem&) const { return false; }

  // Whether it forms sums of inputs that the definition has not, or a plan of the problem may where none is given: an
  // infinity or an overflow then reaches elements that never read it.
  virtual bool mixes_inputs(const Problem&, const Plan*) const { return false; }

  // `check --big`; see big.hpp. No case: there are none.
  virtual std::vector<Problem> big_cases() const { return {}; }
  virtual std::unique_ptr<BigCase> big(const Problem&) const { return nullptr; }  // of big_cases
  // Whether each stem forms addresses in its own way, so that one candidate of each is run.
  virtual bool each_stem_alone() const { return false; }
};

// One line an operation: a problem without one does not compile.
const CheckOperation& check_operation(std::type_identity<PermuteProblem>);
const CheckOperation& check_operation(std::type_identity<MatmulProblem>);
const CheckOperation& check_operation(std::type_identity<Conv2dProblem>);

const CheckOperation& check_operation(const Problem& problem);
std::vector<std::string> checked_operations();  // their names, in Problem's order
CheckCase generate_case(std::string_view operation, std::uint64_t seed, std::uint64_t index, bool words);
std::vector<Problem> all_big_cases();

}  // namespace sectile::tools
