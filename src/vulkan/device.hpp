// The inside of a Device.
#pragma once

#include "modules.hpp"
#include "pipelines.hpp"
#include "snapshot.hpp"

#include <sectile/planner.hpp>
#include <sectile/vulkan.hpp>

#include <string>
#include <utility>
#include <vector>

namespace sectile::vulkan {

// A step that has passed all checks: the key of its pipeline, and the pipeline or what to make it from.
struct StepRequest {
  PipelineKey key;
  std::shared_ptr<const Pipeline> pipeline;  // null where it does not exist yet
  Words words;                               // empty where it does
};

struct Device::Impl {
  Impl(Snapshot taken, const FeatureSet& enabled, DeviceProfile made, std::vector<std::string> warnings,
       const Adoption& adoption, const PipelineContext& context)
      : snapshot(std::move(taken)),
        features(enabled),
        profile(std::move(made)),
        class_warnings(std::move(warnings)),
        profile_hash(profile_hash_of(profile)),
        modules(adoption.modules, adoption.pack),
        pipelines(context) {}

  Result<StepRequest> request(const Step& step);
  Result<void> check_capabilities(const KernelName& kernel, std::span<const std::uint32_t> words) const;

  const Snapshot snapshot;
  const FeatureSet features;
  const DeviceProfile profile;
  const std::vector<std::string> class_warnings;
  const std::string profile_hash;
  const Modules modules;
  Pipelines pipelines;
};

}  // namespace sectile::vulkan
