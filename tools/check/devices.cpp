// Several devices, one check: what each wrote is compared with the reference, and with what the others wrote.
#include "check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace sectile::tools {
namespace {

// Tells a device's failures under its name; `finished` is told once for all devices.
class DeviceSink final : public CheckSink {
 public:
  DeviceSink(CheckSink& inner, std::string device) : inner_(inner), device_(std::move(device)) {}
  void starting(std::uint64_t first, std::uint64_t last) override { inner_.starting(first, last); }
  void doing(std::string_view what) override { inner_.doing(what); }
  void failed(const Failure& failure) override {
    Failure named = failure;
    if (!device_.empty()) named.message = device_ + ": " + named.message;
    inner_.failed(named);
  }
  void skipped(std::uint64_t index, std::string_view why) override { inner_.skipped(index, why); }
  void ran(std::string_view module) override { inner_.ran(module); }
  void finished(std::uint64_t runs) override { runs_ += runs; }
  std::uint64_t take_runs() { return std::exchange(runs_, 0); }

 private:
  CheckSink& inner_;
  std::string device_;
  std::uint64_t runs_ = 0;
};

struct One {
  std::string selector;
  std::unique_ptr<Machine> machine;
  std::unique_ptr<DeviceSink> sink;
  std::unique_ptr<CaseRunner> runner;
};

}  // namespace

struct CaseRunners::Impl {
  const CheckOptions& options;
  CheckSink& sink;
  std::vector<One> devices;
  std::string note;

  void compare(const One& a, const One& b);
};

// A case that one of them did not run has failed there already.
void CaseRunners::Impl::compare(const One& a, const One& b) {
  for (const auto& [index, ours] : a.runner->outcomes()) {
    const auto found = b.runner->outcomes().find(index);
    if (found == b.runner->outcomes().end()) continue;
    const Outcome& theirs = found->second;
    std::string wrong = "operands stand differently: not compared";
    if (ours.at == theirs.at || !ours.checked->data_by_place())
      wrong = ours.checked->compare_devices(ours.dst, theirs.dst);
    if (!wrong.empty())
      sink.failed({index, print(case_problem(options, index)), "",
                   fmt::format("{} and {}: {}", a.selector, b.selector, wrong)});
  }
}

std::vector<std::string> device_list(const std::string& device) {
  std::vector<std::string> list;
  for (std::size_t at = 0; at <= device.size();) {
    const auto comma = std::min(device.find(',', at), device.size());
    list.push_back(device.substr(at, comma - at));
    at = comma + 1;
  }
  return list;
}

CaseRunners::CaseRunners(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
CaseRunners::~CaseRunners() = default;
CaseRunners::CaseRunners(CaseRunners&&) noexcept = default;

Result<CaseRunners> CaseRunners::open(const CheckOptions& options, CheckSink& sink) {
  auto impl = std::make_unique<Impl>(Impl{options, sink, {}, {}});
  const auto selectors = device_list(options.device);
  for (const auto& selector : selectors) {
    std::string note;
    auto machine = open_for_check(options, selector, note);
    if (!machine) return std::unexpected(machine.error());
    if (!note.empty()) impl->note += (impl->note.empty() ? "" : "; ") + note;
    One one{selector, std::move(*machine), std::make_unique<DeviceSink>(sink, selectors.size() > 1 ? selector : ""),
            nullptr};
    one.runner = std::make_unique<CaseRunner>(*one.machine, options, *one.sink);
    impl->devices.push_back(std::move(one));
  }
  return CaseRunners(std::move(impl));
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): what `one` held, the vector holds
}

Result<void> CaseRunners::run(std::uint64_t first, std::uint64_t last, bool alone) {
  std::uint64_t runs = 0;
  for (One& one : impl_->devices) {
    if (auto ran = one.runner->run(first, last, alone); !ran) return ran;
    runs += one.sink->take_runs();
    if (&one != &impl_->devices.front()) impl_->compare(impl_->devices.front(), one);
  }
  impl_->sink.finished(runs);
  return {};
}

Result<void> CaseRunners::run_big(std::uint64_t first, std::uint64_t last) {
  for (One& one : impl_->devices)
    if (auto ran = check_big(*one.machine, impl_->options.first, first, last, impl_->sink); !ran) return ran;
  return {};
}

std::string CaseRunners::names() const {
  std::string text;
  for (const One& one : impl_->devices)
    text += fmt::format("{}{}, {}", text.empty() ? "" : " and ", one.machine->name(), one.machine->driver());
  return text;
}

const std::string& CaseRunners::note() const noexcept { return impl_->note; }

}  // namespace sectile::tools
