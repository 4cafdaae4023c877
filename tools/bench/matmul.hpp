// The part of `sectile bench` that times matrix multiplications: rows of contenders whose samples alternate in one run.
#pragma once

#include "bench.hpp"

#include <string>
#include <vector>

namespace sectile::tools {

// One plan to be timed: the planner's own choice, or a candidate that is forced.
struct MatmulContender {
  std::string label;
  MatmulProblem problem;
  std::string force;
};

struct MatmulRow {
  std::string name;                          // as rivals' files know it
  std::vector<MatmulContender> contenders;   // the first is what the others, and rivals, are compared with
  bool twins = false;                        // with the checked twin, and the problem rounded up to the tile
  double goal_vulkan = 0, goal_cuda = 0;     // times the rival, as targets.md wants it; 0: none
};

// A candidate with a twin " checked", for problems whose planned tile has none.
inline constexpr const char* kTwinTile = "matmul_simt 128x128x8 8x8";

// "matmul", "gemm-ladder" or "dietcode"; nothing for another name. `large`: the ladder at n = 16384.
std::optional<std::vector<MatmulRow>> matmul_preset(const std::string& name, bool large);
MatmulRow matmul_row(const MatmulProblem& problem);
nlohmann::json matmul_rows_json(const std::vector<MatmulRow>& rows);

struct MatmulTime {
  std::string label, problem, candidate, plan, statistics, error;
  double operations = 0;                     // 2 M N K batch
  Spread time;
  double rate() const noexcept { return time.median > 0 ? operations / time.median : 0; }
};

struct MatmulResult {
  MatmulRow row;
  std::string error;
  std::vector<MatmulTime> times;
  std::map<std::string, double> rivals;      // seconds
  ReferenceTimes reference;
  bool unsteady = false;                     // the reference had drifted, twice

  const std::pair<const std::string, double>* best_rival() const noexcept;
};

struct MatmulReport {
  std::string device, driver, preset;
  bool cuda = false;
  std::vector<MatmulResult> rows;
  std::string date = {}, command = {};       // UTC, ISO 8601; as typed
  double min_time = 0, warmup = 0, cycle_mb = 0;
};

nlohmann::json to_json(const MatmulReport& report);
std::string print_table(const MatmulReport& report);
Page page_of(const MatmulReport& report);

// Runs one row. Errors of one contender stand in its result.
MatmulResult bench_matmul(Machine& machine, const BenchOptions& options, Steady& steady, const MatmulRow& row);

// `sectile bench` for a matmul preset or matmul problems; its exit code.
int run_matmul_bench(const BenchOptions& options, const std::vector<MatmulRow>& rows);

}  // namespace sectile::tools
