// The inside of an Executable: what prepare leaves for launch.
#pragma once

#include "libraries.hpp"

#include "backend/operands.hpp"

#include <sectile/cuda.hpp>

#include <memory>
#include <string>
#include <vector>

namespace sectile::cuda {

// What every architecture takes as a kernel's arguments; they are put together on the stack.
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
  std::array<std::uint32_t, 3> grid{}, workgroup{};
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::uint8_t> push;
  std::vector<AddressSlot> addresses;
  std::vector<TensorMap> tensor_maps;      // arguments of their own behind the push struct
};

struct Executable::Impl {
  const api::Driver* driver = nullptr;
  api::Context context = nullptr;
  std::vector<PlanOperand> operands;
  std::vector<backend::Accessed> accessed;  // one an operand
  std::vector<ReadyStep> steps;
  std::string plan_id;
};

}  // namespace sectile::cuda
