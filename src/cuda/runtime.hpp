// The inside of a Runtime.
#pragma once

#include "libraries.hpp"

#include <sectile/cuda_runtime.hpp>

#include <optional>
#include <utility>

namespace sectile::cuda {

// A graph that can be launched, gone with this object. Its context must be current.
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
  // What `launch` does, `count` times, between two records of the events; nothing runs. In the context.
  Result<OwnedGraph> capture(const LaunchFunction& launch, unsigned count) const;
  // One launch of a graph and waiting for it: nanoseconds between its two events. In the context.
  Result<double> sample(const OwnedGraph& graph) const;
  Result<void> warm_up(const OwnedGraph& graph, double seconds) const;
};

}  // namespace sectile::cuda
