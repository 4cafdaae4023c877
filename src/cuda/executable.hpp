// The inside of an Executable: what launch needs.
#pragma once

#include "libraries.hpp"

#include "backend/operands.hpp"

#include <sectile/cuda.hpp>

#include <memory>
#include <string>
#include <vector>

namespace sectile::cuda {

// The size of kernel arguments that every architecture allows; they are assembled on the stack.
inline constexpr std::size_t kMostPushBytes = 4096;
inline constexpr std::size_t kMostTensorMaps = 8;

// Owned by the Device's kernels.
struct Kernel {
  api::Module module = nullptr;
  api::Function function = nullptr;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t most_threads = 0;
};

struct ReadyStep {
  std::shared_ptr<const Kernel> kernel;
  std::array<std::uint32_t, 3> grid{}, cluster{}, workgroup{};
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::uint8_t> push;
  std::vector<AddressSlot> addresses;
  std::vector<TensorMap> tensor_maps;  // arguments after the push struct
};

struct Executable::Impl {
  const api::Driver* driver = nullptr;
  api::Context context = nullptr;
  std::vector<PlanOperand> operands;
  std::vector<backend::Accessed> accessed;  // one for each operand
  std::vector<ReadyStep> steps;
  std::string plan_id;
};

}  // namespace sectile::cuda
