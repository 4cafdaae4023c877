// Runs the CUDA kernels on the host: shaders/*/*.cu compiled as C++, workgroup by workgroup, so that a wrong kernel is
// found without a GPU. What it does not show: races that a real warp's order would bring out (compute-sanitizer does),
// and what NVRTC makes of the source.
#pragma once

#include <sectile/plan.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::emulated {

// Workgroup memory, poisoned for every workgroup; a word of poison before its end and after it must stay.
class SharedArray {
 public:
  virtual ~SharedArray() = default;
  virtual void poison() = 0;
  virtual bool guards_stand() const = 0;
};

struct TensorMap;

// A kernel's variant with one step's constants.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void invoke(const std::uint8_t* push, std::span<const TensorMap> maps) = 0;  // one invocation
  virtual const std::vector<SharedArray*>& shared() const = 0;
  virtual std::uint64_t shared_bytes() const = 0;
};

struct KernelRow {
  std::string_view stem, variant;
  std::unique_ptr<Kernel> (*make)(const Step& step);
};
std::vector<KernelRow>& kernels();  // filled before main() by what CMake makes of shaders/*/*.cu
const KernelRow* find_kernel(const KernelName& name);

// Where an operand stands. Its bytes are the process' own memory.
struct Operand {
  std::byte* address = nullptr;
};

// Carries out one step. What the kernel did wrong comes back as text, the first thing alone: an access outside the
// step's ranges or misaligned, a barrier that not every invocation reached, workgroup memory overrun or more than
// the step states. Empty: nothing.
// `left_out`: that barrier, counted from 0 in each invocation, is none. So a test sees what each barrier is for.
inline constexpr unsigned kNoBarrier = ~0u;
std::string run(const Step& step, std::span<const Operand> operands, unsigned left_out = kNoBarrier);
// Which workgroups run their invocations from the last to the first (every second one), and in which copies of boxes
// land when they are begun (two, then not in two; else when nothing else goes on, the latest first). 0 to 3.
void set_order(unsigned order);
// The most barriers that an invocation of the last run came to.
unsigned barriers();

// What an invocation did to memory.
struct Access {
  enum class Kind : std::uint8_t { load, store, workgroup };  // of global memory; of workgroup memory, either
  Kind kind = Kind::load;
  std::uint32_t bytes = 0, invocation = 0;
  std::uint32_t barriers = 0;     // that the invocation had passed
  std::uint64_t instruction = 0;  // a number of its position in the source, the iterations of the loops around it, and
                                  // `barriers`: lanes of a subgroup carry out the n-th accesses of one number together
  std::uint64_t address = 0;      // the process' own
};

// Carries out one workgroup of a step, up to the barrier of that number, and lists its accesses, each invocation's in
// program order. Returns as run().
std::string trace(const Step& step, std::span<const Operand> operands, std::uint64_t group,
                  std::vector<Access>& accesses, unsigned last_barrier = kNoBarrier);

}  // namespace sectile::emulated
