#include "runtime.hpp"

#include <algorithm>
#include <chrono>

namespace sectile::vulkan {

// One submission of `inner` runs; returns the wall time of one run in nanoseconds.
Result<double> Runtime::Impl::sample(const RecordFunction& record, unsigned inner, Timing* timing) {
  const auto several = [&](VkCommandBuffer commands) -> Result<void> {
    for (unsigned i = 0; i < inner; ++i) {
      if (i > 0) {
        // The barrier that an application puts between consecutive dispatches and copies. Every stage and every
        // access, the host's among them, costs 2.4 us more on NVIDIA's driver (H200, 580.159.04: 1.5 us an empty
        // dispatch, or 3.9).
        constexpr VkPipelineStageFlags kStages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
        VkMemoryBarrier barrier{};
        barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
        barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
        barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                                VK_ACCESS_TRANSFER_WRITE_BIT;
        table().vkCmdPipelineBarrier(commands, kStages, kStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
      }
      if (auto recorded = record(commands); !recorded) return recorded;
    }
    return {};
  };
  const auto elapsed = run(several, timing != nullptr);
  if (!elapsed) return std::unexpected(elapsed.error());
  const double wall = elapsed->wall_ns / inner;
  if (timing != nullptr) {
    timing->wall_ns.push_back(wall);
    if (const auto& gpu = elapsed->gpu_ns) timing->gpu_ns.push_back(*gpu / inner);
  }
  return wall;
}

// Submissions take some milliseconds each: between short ones a GPU would idle and lower its clocks.
Result<void> Runtime::Impl::warm_up(const RecordFunction& record, unsigned inner, double seconds) {
  constexpr double kSubmission = 5e6;  // ns
  constexpr double kMostRuns = 256;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  unsigned runs = inner;
  while (elapsed() < seconds) {
    const auto one = sample(record, runs, nullptr);
    if (!one) return std::unexpected(one.error());
    runs = static_cast<unsigned>(std::clamp(kSubmission / std::max(*one, 1.0), 1.0, kMostRuns));
  }
  return {};
}

Result<std::vector<Timing>> Runtime::time(std::span<const RecordFunction> candidates, const TimingOptions& options) {
  const unsigned inner = std::max(1u, options.inner);
  for (const RecordFunction& record : candidates)
    if (auto warm = impl_->warm_up(record, inner, options.warmup_seconds); !warm) return std::unexpected(warm.error());
  if (options.ready)
    if (auto ready = options.ready(); !ready) return std::unexpected(ready.error());
  std::vector<Timing> out(candidates.size());
  for (unsigned i = 0; i < options.repeats; ++i) {
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const auto done = impl_->sample(candidates[c], inner, &out[c]);
      if (!done) return std::unexpected(done.error());
    }
  }
  return out;
}

Result<Timing> Runtime::time(const RecordFunction& record, const TimingOptions& options) {
  auto out = time(std::span(&record, 1), options);
  if (!out) return std::unexpected(out.error());
  return std::move(out->front());
}

}  // namespace sectile::vulkan
