// What an operation's draws for a sweep share; see docs/reference/sweep.md.
#pragma once

#include "reference/random.hpp"

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sectile::tools {

struct SweepOptions {
  std::string operation;  // its name
  std::uint64_t seed = 1;
  std::size_t cases = 100, first = 0;  // cases `first` to `first` + `cases` - 1
  std::string only_class, only_type;   // a letter or a name; "f16"; empty: all
  double min_mb = 0;                   // permute: 10^6 bytes of the larger operand, to 16 times as many; 0: 32, CPUs 4
  double max_gflop = 0;                // products: what has more is drawn again; 0: no bound, CPUs 2
  bool cpu = false;                    // the device is one
};

struct SweepClass {
  char letter;
  std::string_view name, what;
};

struct Drawn {
  Problem problem;
  // The same with each size above 64 rounded up to a multiple of 64 (a batch stays); none where that changes nothing.
  std::optional<Problem> neighbour = {};
};

// Log-uniform in [low, high], both included.
std::int64_t draw_size(reference::Random& random, std::int64_t low, std::int64_t high);
std::int64_t neighbour_size(std::int64_t size);  // above 64: rounded up to a multiple of 64

}  // namespace sectile::tools
