#include "steady.hpp"

#include "bench/data.hpp"
#include "cli/text.hpp"

#include <sectile/planner.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sectile::tools {
namespace {

constexpr double kSample = 2e-3;  // seconds of one sample: the host's part between samples is small beside it
constexpr std::size_t kWindows = 3;
constexpr std::uint32_t kPattern = 0x5ec711e5;

// A copy that no cache holds, and a product that fills the device.
constexpr std::uint64_t kCopyGpu = std::uint64_t{256} << 20, kCopyCpu = std::uint64_t{32} << 20, kCopyLeast = 1 << 20;
constexpr std::int64_t kMatmulGpu = 2048, kMatmulCpu = 256;

MatmulProblem product(DType type, std::int64_t n) {
  MatmulProblem p;
  p.type = p.a_type = p.b_type = p.out = type;
  p.acc = DType::f32;
  p.m = p.n = p.k = n;
  return p;
}

}  // namespace

std::string_view name(Reference reference) noexcept {
  switch (reference) {
    case Reference::copy:
      return "copy";
    case Reference::matmul_f32:
      return "matmul f32";
    case Reference::matmul_f16:
      return "matmul f16";
  }
  return "";
}

struct Steady::Load {
  ProgramPtr program;
  std::vector<MemoryPtr> memory;
  Launch launch;
  double rough = 0;  // seconds of one run, when it was made
  double best = 0;
  double work = 0;  // bytes, or operations, of one run
};

Steady::Steady(Machine& machine, double most, double window) : machine_(machine), most_(most), window_(window) {}
Steady::~Steady() = default;

Result<Steady::Load*> Steady::load_of(Reference reference) {
  if (const auto found = loads_.find(reference); found != loads_.end()) return found->second.get();
  const bool cpu = machine_.profile().kind == DeviceKind::cpu;
  const bool copy = reference == Reference::copy;
  const auto made = [&](const Problem& problem) -> Result<Load> {
    const auto plan = make_plan(problem, machine_.profile());
    if (!plan) return std::unexpected(plan.error());
    Load load;
    auto program = machine_.prepare(*plan);
    if (!program) return std::unexpected(program.error());
    load.program = std::move(*program);
    load.launch.program = load.program.get();
    for (const PlanOperand& operand : plan->operands) {
      auto memory = machine_.make_memory(std::max<std::uint64_t>(operand.bytes, 256));
      if (!memory) return std::unexpected(memory.error());
      // Pages that were never written may all be one; and zeros would draw less power than numbers do.
      std::vector<std::byte> data(copy ? 0 : static_cast<std::size_t>(operand.bytes));
      fill_numbers(reference == Reference::matmul_f16 ? DType::f16 : DType::f32, data, 1);
      const auto filled =
          copy ? machine_.fill(**memory, 0, operand.bytes, kPattern) : machine_.upload(**memory, 0, data);
      if (!filled) return std::unexpected(filled.error());
      load.launch.parts.push_back({memory->get(), 0, operand.bytes});
      load.memory.push_back(std::move(*memory));
    }
    if (auto ran = machine_.run(load.launch); !ran) return std::unexpected(ran.error());  // a driver may compile here
    const LaunchSource once = [&] { return load.launch; };
    const auto rough = machine_.time(std::span(&once, 1), {.repeats = 2, .inner = 1});
    if (!rough) return std::unexpected(rough.error());
    load.rough = std::max(std::ranges::min(rough->front()), 1e-7);
    return load;
  };
  Result<Load> load = fail(ErrorKind::missing, "reference");
  if (copy) {
    for (std::uint64_t bytes = cpu ? kCopyCpu : kCopyGpu; !load && bytes >= kCopyLeast; bytes /= 2) {
      load = made(copy_problem(bytes));
      if (load) load->work = 2.0 * static_cast<double>(bytes);
    }
  } else {
    const std::int64_t n = cpu ? kMatmulCpu : kMatmulGpu;
    if (reference == Reference::matmul_f16) load = made(product(DType::f16, n));
    if (!load) load = made(product(DType::f32, n));  // no 16-bit storage
    if (load) load->work = 2.0 * static_cast<double>(n * n * n);
  }
  if (!load) return std::unexpected(load.error());
  return loads_.emplace(reference, std::make_unique<Load>(std::move(*load))).first->second.get();
}

Result<void> Steady::prepare(Reference reference) {
  if (!on()) return {};
  if (auto load = load_of(reference); !load) return std::unexpected(load.error());
  return {};
}

// The median of one window.
Result<double> Steady::window(Load& load, double seconds) {
  const double run = load.best > 0 ? load.best : load.rough;
  const double inner = std::clamp(std::ceil(kSample / run), 1.0, 256.0);
  const double repeats = std::clamp(std::ceil(seconds / (inner * run)), 3.0, 1000.0);
  const LaunchSource one = [&] { return load.launch; };
  const auto timed = machine_.time(std::span(&one, 1),
                                   {.repeats = static_cast<unsigned>(repeats), .inner = static_cast<unsigned>(inner)});
  if (!timed) return std::unexpected(timed.error());
  std::vector<double> samples = timed->front();
  for (const double sample : samples) spent_ += sample * inner;
  std::ranges::sort(samples);
  const double median = samples[samples.size() / 2];
  if (load.best == 0 || median < load.best) load.best = median;
  return median;
}

Result<void> Steady::settle(ReferenceTimes& times) {
  if (!on()) return {};
  auto load = load_of(times.reference);
  if (!load) return std::unexpected(load.error());
  const double seconds = std::min(window_, most_ / static_cast<double>(kWindows));
  const double spent = spent_, started = now_seconds();
  std::array<double, kWindows> last{};
  times.agreed = false;
  for (std::size_t i = 0;; ++i) {
    const auto median = window(**load, seconds);
    if (!median) return std::unexpected(median.error());
    last[i % kWindows] = times.before = *median;
    if (i + 1 < kWindows) continue;
    const auto [least, most] = std::ranges::minmax(last);
    times.agreed = most <= least * (1 + kWindowsAgree) && !drifted({times.reference, most, 0, false});
    // By the host's clock as well: what runs for milliseconds may wait for as long.
    if (times.agreed || spent_ - spent >= most_ || now_seconds() - started >= most_) return {};
  }
}

Result<void> Steady::confirm(ReferenceTimes& times) {
  if (!on()) return {};
  auto load = load_of(times.reference);
  if (!load) return std::unexpected(load.error());
  const auto median = window(**load, std::min(window_, most_ / static_cast<double>(kWindows)));
  if (!median) return std::unexpected(median.error());
  times.after = *median;
  return {};
}

Result<Reference> Steady::reference_for(double bytes, double operations, bool f16) {
  if (!on()) return Reference::copy;
  const Reference product = f16 ? Reference::matmul_f16 : Reference::matmul_f32;
  std::array<double, 2> seconds{};
  for (const auto& [reference, work, place] :
       {std::tuple(Reference::copy, bytes, 0u), std::tuple(product, operations, 1u)}) {
    auto load = load_of(reference);
    if (!load) return std::unexpected(load.error());
    if ((*load)->best == 0)
      if (auto ran = window(**load, std::min(window_, most_)); !ran) return std::unexpected(ran.error());
    seconds[place] = work * (*load)->best / (*load)->work;
  }
  return seconds[0] >= seconds[1] ? Reference::copy : product;
}

bool Steady::drifted(const ReferenceTimes& times) const {
  const auto load = loads_.find(times.reference);
  if (load == loads_.end() || load->second->best == 0) return false;
  const double drift = machine_.profile().kind == DeviceKind::cpu ? kDriftCpu : kDriftGpu;
  return times.worst() * (1 - drift) > load->second->best;
}

double Steady::best_rate(Reference reference) const {
  const auto load = loads_.find(reference);
  return load == loads_.end() || load->second->best == 0 ? 0 : load->second->work / load->second->best;
}

}  // namespace sectile::tools
