#include "runtime.hpp"

#include <algorithm>
#include <chrono>

namespace sectile::cuda {

// The events are inside the graph, so that they do not measure the host's part of the launch.
Result<OwnedGraph> Runtime::Impl::capture(const LaunchFunction& launch, unsigned count) const {
  // Thread-local: allocations of other threads do not invalidate the capture.
  auto done = SECTILE_CUDA_CALL(*driver, cuStreamBeginCapture_v2, stream, api::kCaptureThreadLocal);
  if (!done) return std::unexpected(done.error());
  done = SECTILE_CUDA_CALL(*driver, cuEventRecordWithFlags, begin, stream, api::kEventRecordExternal);
  for (unsigned i = 0; done && i < count; ++i) done = launch(stream);
  if (done) done = SECTILE_CUDA_CALL(*driver, cuEventRecordWithFlags, end, stream, api::kEventRecordExternal);
  // Always ended, or the stream would stay in capture mode.
  api::Graph graph = nullptr;
  const auto ended = SECTILE_CUDA_CALL(*driver, cuStreamEndCapture, stream, &graph);
  if (done) done = ended;
  api::GraphExec ready = nullptr;
  if (done) done = SECTILE_CUDA_CALL(*driver, cuGraphInstantiateWithFlags, &ready, graph, 0ull);
  if (graph != nullptr) driver->cuGraphDestroy(graph);
  if (!done) return std::unexpected(done.error());
  return OwnedGraph(*driver, ready);
}

Result<double> Runtime::Impl::sample(const OwnedGraph& graph) const {
  auto done = SECTILE_CUDA_CALL(*driver, cuGraphLaunch, graph.get(), stream);
  if (done) done = wait();
  float milliseconds = 0;
  if (done) done = SECTILE_CUDA_CALL(*driver, cuEventElapsedTime, &milliseconds, begin, end);
  if (!done) return std::unexpected(done.error());
  return double{milliseconds} * 1e6;
}

// Some milliseconds between two waits: between short runs a GPU would idle and lower its clocks.
Result<void> Runtime::Impl::warm_up(const OwnedGraph& graph, double seconds) const {
  constexpr double kBetweenWaits = 5e6;  // ns
  constexpr double kMostLaunches = 256;
  // At least once: the first launch of a graph also uploads it.
  const auto one = sample(graph);
  if (!one) return std::unexpected(one.error());
  const auto launches = static_cast<unsigned>(std::clamp(kBetweenWaits / std::max(*one, 1.0), 1.0, kMostLaunches));
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) {
    Result<void> done;
    for (unsigned i = 0; done && i < launches; ++i)
      done = SECTILE_CUDA_CALL(*driver, cuGraphLaunch, graph.get(), stream);
    const auto waited = wait();
    if (!done) return done;
    if (!waited) return waited;
  }
  return {};
}

Result<std::vector<Timing>> Runtime::time(std::span<const LaunchFunction> candidates, const TimingOptions& options) {
  const unsigned inner = std::max(1u, options.inner);
  const ContextScope scope(*impl_->driver, impl_->context);
  if (scope.status() != api::kSuccess)
    return std::unexpected(driver_error(*impl_->driver, "cuCtxPushCurrent", scope.status()));
  std::vector<OwnedGraph> graphs;
  for (const LaunchFunction& launch : candidates) {
    auto graph = impl_->capture(launch, inner);
    if (!graph) return std::unexpected(graph.error());
    graphs.push_back(std::move(*graph));
  }
  for (const OwnedGraph& graph : graphs)
    if (auto warm = impl_->warm_up(graph, options.warmup_seconds); !warm) return std::unexpected(warm.error());
  if (options.ready)
    if (auto ready = options.ready(); !ready) return std::unexpected(ready.error());
  std::vector<Timing> out(candidates.size());
  for (unsigned i = 0; i < options.repeats; ++i) {
    for (std::size_t c = 0; c < graphs.size(); ++c) {
      const auto nanoseconds = impl_->sample(graphs[c]);
      if (!nanoseconds) return std::unexpected(nanoseconds.error());
      out[c].gpu_ns.push_back(*nanoseconds / inner);
    }
  }
  return out;
}

}  // namespace sectile::cuda
