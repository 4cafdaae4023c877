// What an operation brings to the benchmark: its rows, its work, its data and what is right, its part of sweeps. The
// engine, the reports and the sweeps know no operation. One file an operation: permute.cpp, matmul.cpp, conv2d.cpp.
#pragma once

#include "bench.hpp"
#include "sweep_draw.hpp"

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sectile::tools {

// How a rate is expressed.
struct RateUnit {
  std::string_view unit;    // "GB/s"
  double scale = 1;         // of one unit: 1e9
  int digits = 1;           // after the point, in tables
  bool operations = false;  // of arithmetic; otherwise of bytes read and written
  std::string_view axis;    // of a plot: "GB/s, read + written"
  std::string_view note;    // a sentence of what is counted; may be empty
};

class BenchOperation {
 public:
  virtual ~BenchOperation() = default;

  // ---- Rows. A row's name is the problem's text, or a shorter one that no other problem has.
  virtual std::vector<std::string_view> presets() const { return {}; }
  virtual std::optional<std::vector<BenchRow>> preset(std::string_view, bool /*large*/) const { return std::nullopt; }
  virtual BenchRow row(const Problem& problem) const;
  // Every part of the problem by name: for rivals.
  virtual nlohmann::json describe(const Problem& problem) const;

  // ---- Work, and what its time is compared with.
  virtual Work work(const Problem& problem) const = 0;
  virtual const RateUnit& unit() const = 0;
  // Whether rows are compared with a copy of the same bytes, timed in turn with them; otherwise with their best rival.
  virtual bool beside_copy() const = 0;
  // Whether its factors have 2 bytes or 1: which product the warm-up runs where arithmetic bounds a row.
  virtual bool narrow_factors(const Problem&) const { return false; }
  virtual Goal goal(const RowResult& result) const;

  // ---- Data.
  virtual std::uint64_t most_slots() const { return 4096; }
  // What the operand `spec`, number `index`, holds before a run. False: nothing, it is only written.
  virtual bool fill(const Problem& problem, const OperandSpec& spec, std::size_t index,
                    std::span<std::byte> bytes) const = 0;
  // Why results are not compared; empty where they are.
  virtual std::string unverified(const Problem&) const { return {}; }
  // What is wrong with the result; empty where nothing is. `before`: all operands by name, before the run.
  virtual std::string verify(const Problem& problem, const BenchData& before, std::span<const std::byte> got) const = 0;
  // Whether two candidates' results differ by more than they may.
  virtual std::string compare(const Problem& problem, std::span<const std::byte> first,
                              std::span<const std::byte> other) const;

  // ---- Sweeps; see docs/reference/sweep.md. No class: there are none.
  virtual std::span<const SweepClass> sweep_classes() const { return {}; }
  virtual std::span<const std::string_view> sweep_types() const { return {}; }
  virtual std::uint64_t sweep_stream() const { return 0; }  // one of its own: what is drawn follows from it
  // Nothing where what was drawn does not fit the options' bounds: the caller draws again.
  virtual std::optional<Drawn> draw(const SweepOptions&, char /*letter*/, std::string_view /*type*/,
                                    reference::Random&) const {
    return std::nullopt;
  }
};

// One line an operation: a problem without one does not compile.
const BenchOperation& bench_operation(std::type_identity<PermuteProblem>);
const BenchOperation& bench_operation(std::type_identity<MatmulProblem>);
const BenchOperation& bench_operation(std::type_identity<Conv2dProblem>);

const BenchOperation& bench_operation(const Problem& problem);
const BenchOperation* bench_operation(std::string_view name);  // null where there is none of that name
std::vector<std::string> bench_operations();                   // their names, in Problem's order

// Of all operations: "seeds-permute, images, cpu, matmul, gemm-ladder or dietcode". `more`: further names.
std::string preset_names(std::vector<std::string> more = {});
// Nothing for an unknown name.
std::optional<std::vector<BenchRow>> preset_rows(std::string_view name, bool large = false);

}  // namespace sectile::tools
