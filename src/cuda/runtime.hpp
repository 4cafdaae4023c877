// The inside of a Runtime.
#pragma once

#include "libraries.hpp"

#include <sectile/cuda_runtime.hpp>

#include <optional>
#include <utility>

namespace sectile::cuda {

// An executable graph, destroyed with this object. Its context must be current.
class OwnedGraph {
 public:
  OwnedGraph(const api::Driver& driver, api::GraphExec graph) noexcept : driver_(&driver), graph_(graph) {}
  ~OwnedGraph() {
    if (graph_ != nullptr) driver_->cuGraphExecDestroy(graph_);
  }
  OwnedGraph(OwnedGraph&& other) noexcept : driver_(other.driver_), graph_(std::exchange(other.graph_, nullptr)) {}
  OwnedGraph& operator=(OwnedGraph&&) = delete;
  api::GraphExec get() const noexcept { return graph_; }

 private:
  const api::Driver* driver_;
  api::GraphExec graph_;
};

struct Runtime::Impl {
  const api::Driver* driver = nullptr;
  api::Ordinal ordinal = -1;
  Context context = nullptr;
  Stream stream = nullptr;
  api::Event begin = nullptr, end = nullptr;
  DeviceEntry entry;
  std::optional<Device> device;

  Impl() = default;
  ~Impl();  // waits until the stream is idle
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> wait() const;
  // Runs `work` in the context.
  Result<void> inside(const std::function<Result<void>()>& work) const;
  // Captures `launch`, `count` times, between two event records; nothing runs. In the context.
  Result<OwnedGraph> capture(const LaunchFunction& launch, unsigned count) const;
  // Launches a graph and waits: nanoseconds between its two events. In the context.
  Result<double> sample(const OwnedGraph& graph) const;
  Result<void> warm_up(const OwnedGraph& graph, double seconds) const;
};

}  // namespace sectile::cuda
