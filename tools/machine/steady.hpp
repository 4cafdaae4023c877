// Warm-up: before samples are taken, a reference kernel runs until its own time is stable.
//
// A GPU that idled while the host made data lowers its clocks, and takes more than a quarter of a second of work to
// raise them again; until then kernels read up to three times too slow, each with a narrow spread. A reference that is
// the same for a whole call shows it: its time right before and right behind a row says what the device did meanwhile.
#pragma once

#include "machine.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace sectile::tools {

// The reference kernel: a copy for rows bound by memory, a matmul for rows bound by arithmetic.
enum class Reference : std::uint8_t { copy, matmul_f32, matmul_f16 };
std::string_view name(Reference reference) noexcept;  // "copy", "matmul f32", "matmul f16"

// The reference's times around one row: seconds of one run; 0: it did not run.
struct ReferenceTimes {
  Reference reference = Reference::copy;
  double before = 0, after = 0;
  bool agreed = false;  // three windows did, before the samples
  double worst() const noexcept { return before > after ? before : after; }
};

inline constexpr double kWarmupSeconds = 4;  // at most, before one row
inline constexpr double kWindowSeconds = 0.2;
inline constexpr double kWindowsAgree = 0.01;                // of each other
inline constexpr double kDriftGpu = 0.03, kDriftCpu = 0.10;  // under the call's best rate

// One object for each call of the command. Its best rate is that of the fastest window so far. The machine must
// outlive it. Not thread-safe.
class Steady {
 public:
  // most: seconds that the reference may run before one row; 0: it never runs, and no row drifts. Less than three
  // windows shortens them.
  Steady(Machine& machine, double most, double window = kWindowSeconds);
  ~Steady();

  // Makes its memory, data and kernels. Errors: the machine's.
  Result<void> prepare(Reference reference);
  // Runs it until three windows agree, no slower than drift allows under the call's best, or the time is over. To be
  // called when everything else is ready; then samples follow at once. Errors: what the machine says.
  Result<void> settle(ReferenceTimes& times);
  // One window behind the samples. Errors: what the machine says.
  Result<void> confirm(ReferenceTimes& times);

  // The reference that is right for some work: by how long its bytes and its operations take at the references' rates.
  // f16: the operations are those of 2-byte or 1-byte factors. Runs two short windows when it is first asked.
  Result<Reference> reference_for(double bytes, double operations, bool f16);

  bool on() const noexcept { return most_ > 0; }
  bool drifted(const ReferenceTimes& times) const;
  double best_rate(Reference reference) const;  // bytes read and written, or operations, a second; 0: it has not run

 private:
  struct Load;
  Result<Load*> load_of(Reference reference);
  Result<double> window(Load& load, double seconds);

  Machine& machine_;
  double most_, window_, spent_ = 0;
  std::map<Reference, std::unique_ptr<Load>> loads_;
};

// Rows whose reference drifted are measured once more, by again(index); those that drift again are marked.
// Row: has ReferenceTimes `reference` and bool `unsteady`.
template <class Row, class Again>
void measure_drifted_again(const Steady& steady, std::vector<Row>& rows, Again&& again) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (steady.drifted(rows[i].reference)) rows[i] = again(i);
  // By the call's final best: a row that is measured again may have raised it.
  for (Row& row : rows) row.unsteady = steady.drifted(row.reference);
}

}  // namespace sectile::tools
