// Plans: plain data that any backend can run; comparable, printable, JSON in both directions.
#pragma once

#include <sectile/error.hpp>
#include <sectile/problem.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sectile {

// A kernel template: shaders/OPERATION/<stem>.comp or .cu, compiled as <variant> (the element size, for example).
struct KernelName {
  std::string stem;     // "permute_tile"
  std::string variant;  // "e2", "e4.wide"
  auto operator<=>(const KernelName&) const = default;
};

struct Constant {
  std::uint32_t id = 0;  // specialization constant id, named in shaders/OPERATION/<stem>.abi.h
  std::uint32_t value = 0;
  auto operator<=>(const Constant&) const = default;
};

// Where in the push bytes the 64-bit address of an operand goes (written when recording).
struct AddressSlot {
  std::uint32_t push_offset = 0;  // bytes, a multiple of 8
  std::uint32_t operand = 0;      // index into Plan::operands
  std::uint64_t byte_offset = 0;  // added to the operand's address
  auto operator<=>(const AddressSlot&) const = default;
};

// Bytes [begin, end) of an operand that a step may access. Steps are ordered by these alone.
struct AccessRange {
  std::uint32_t operand = 0;
  std::uint64_t begin = 0, end = 0;
  bool write = false;
  auto operator<=>(const AccessRange&) const = default;
};

// What a copy writes for elements outside of the tensor. A NaN has a type, because the driver takes it for floats
// alone.
enum class TensorFill : std::uint8_t { zeros, nan_f16, nan_bf16, nan_f32 };
std::string_view name(TensorFill fill) noexcept;  // "nan_f16"

// A convolution's reads of an image (channels, then one to three spatial dimensions, then images): a copy takes the
// channels of so many pixels, one after another in the pixel box, and goes on with the next image.
struct Im2col {
  // The pixel box's corners, one number for each spatial dimension, innermost first as in TensorMap::dims: the lower
  // one from the first pixel, the upper one from the last pixel. Negative numbers reach into the padding, or stay
  // inside.
  std::vector<std::int32_t> lower, upper;
  std::uint32_t channels_per_pixel = 1;  // at most 256
  std::uint32_t pixels_per_column = 1;   // at most 1024
  bool operator==(const Im2col&) const = default;
};

// A tensor of which a kernel copies whole boxes with CUDA's tensor memory accelerator (sm_90 and later). It is encoded
// at launch (cuTensorMapEncodeTiled, or cuTensorMapEncodeIm2col) into 128 bytes, a kernel argument after the push
// struct. A copy has at most 227 KiB.
struct TensorMap {
  std::uint32_t operand = 0;
  std::uint64_t byte_offset = 0;       // of the tensor's first element; a multiple of 16
  std::uint32_t element_bytes = 1;     // 1, 2, 4 or 8
  std::vector<std::uint64_t> dims;     // elements, innermost first; 1 to 5 of them
  std::vector<std::uint64_t> strides;  // bytes from one index to the next, of every dimension but the innermost;
                                       // multiples of 16
  std::vector<std::uint32_t> box;      // elements of one copy; none with im2col
  std::uint32_t swizzle_bytes = 0;     // 0, 32, 64 or 128; the box's rows then have at most so many bytes
  // Of each dimension every so many-th element is copied: 1 to 8, of the innermost 1. A box counts all elements.
  // Empty: 1.
  std::vector<std::uint32_t> element_strides = {};
  std::optional<Im2col> im2col = {};
  TensorFill fill = TensorFill::zeros;
  bool operator==(const TensorMap&) const = default;
};

inline constexpr std::array<std::uint32_t, 3> kNoCluster{1, 1, 1};

struct Step {
  KernelName kernel;
  std::vector<Constant> constants;  // sorted by id; the workgroup's size is among them
  std::array<std::uint32_t, 3> workgroup{1, 1, 1};
  std::uint32_t required_subgroup_size = 0;    // 0: any
  std::array<std::uint32_t, 3> grid{1, 1, 1};  // workgroups; never beyond the profile's limits
  // Workgroups that run at the same time and read each other's memory (CUDA's clusters, sm_90 and later). The grid is a
  // multiple of it along each axis. Every such device has 8 together; 16 is the most, and a launch may refuse it.
  std::array<std::uint32_t, 3> cluster = kNoCluster;
  std::vector<std::uint8_t> push;  // push bytes; address slots hold zeros
  std::vector<AddressSlot> addresses;
  std::vector<AccessRange> accesses;
  std::vector<TensorMap> tensor_maps;  // only in plans for CUDA devices that support them
  std::uint32_t workgroup_memory_bytes = 0;
  // All writes of earlier steps are finished and visible before this step starts.
  bool barrier_before = false;
  bool operator==(const Step&) const = default;
};

enum class OperandRole : std::uint8_t { source, destination, scratch };

struct PlanOperand {
  std::string name;  // "src", "dst", "scratch"
  OperandRole role = OperandRole::source;
  std::uint64_t bytes = 0;   // from its address to the end of the last accessed byte
  std::uint32_t align = 16;  // its address must be a multiple of this
  bool operator==(const PlanOperand&) const = default;
};

// Where an operand is when its plan runs, on any backend. `bytes`: from the address to the end of the memory that the
// operand may use. 0: unknown, and the size is not checked.
struct OperandAddress {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// The planner's count for representative workgroups of a step, interior and edge (docs/design/cost-model.md).
struct AccessCount {
  std::uint64_t load_transactions = 0;  // global transactions of the profile's transaction_bytes
  std::uint64_t store_transactions = 0;
  std::uint64_t ideal_load_transactions = 0;  // for the same bytes, if every transaction were full
  std::uint64_t ideal_store_transactions = 0;
  std::uint64_t load_requests = 0;  // subgroup-wide instructions
  std::uint64_t store_requests = 0;
  std::uint64_t bank_conflicts = 0;  // extra passes over workgroup memory, loads and stores
  bool operator==(const AccessCount&) const = default;
};

// Whether an admissible candidate competes.
enum class Eligibility : std::uint8_t {
  candidate,     // by its cost
  last_resort,   // chosen only where no candidate is admissible, or the pack has none; of several the first
  measured_only  // chosen only where it is forced; it is there to be measured
};

std::string_view name(Eligibility eligibility) noexcept;  // "candidate", "last_resort", "measured_only"

// A candidate that the planner considered.
struct Candidate {
  std::string name;  // docs/reference/candidates.md: "permute_copy u1 wg256"
  bool chosen = false;
  std::string refusal;                               // the constraint that it fails; empty where it is admissible
  std::int64_t cost = 0;                             // the cost model's estimate, picoseconds; 0 where refused
  Eligibility eligibility = Eligibility::candidate;  // where admissible
  AccessCount interior, edge;
  std::string detail;  // one line: workgroup size, workgroups, workgroup memory
  bool operator==(const Candidate&) const = default;
};

enum class ChosenBy : std::uint8_t { cost, force, tuned };

// Which candidate a plan uses, and why that one. Together with the problem, the profile and the pack it determines the
// plan.
struct PlanChoice {
  ChosenBy by = ChosenBy::cost;
  std::string candidate;  // "permute_copy u1 wg256", of the first step; empty: no candidates
  std::string asked;      // force: PlanOptions::force as given; tuned: the name in the store
  std::string kernels;    // id of the pack that limited the choice, or empty
  std::optional<std::uint64_t> max_scratch_bytes = {};  // PlanOptions::max_scratch_bytes, which limited it too
  bool few_pipelines = false;                           // PlanOptions::few_pipelines
  bool operator==(const PlanChoice&) const = default;
};

// Digits of a profile's hash that are the same for all that with_canary() makes of a device's profile.
inline constexpr std::size_t kDeviceDigits = 16;

struct Plan {
  Problem problem;
  std::string profile_name;
  // 32 hex digits over the profile's canonical JSON, of which the first kDeviceDigits leave the canary's outcome out.
  // Empty: a plan that was made by hand, for no profile.
  std::string profile_hash;
  std::string planner_version;
  std::string device_class;  // whose costs it was chosen by: a name and a hash of its numbers (device_class.hpp)
  std::vector<PlanOperand> operands;  // permute: src, dst
  std::vector<Step> steps;            // empty: nothing to do
  std::vector<Candidate> candidates;  // with PlanOptions::explain only; not part of the id
  std::string cost_model;             // with explain: the class of devices, and what was measured on it
  PlanChoice choice;
  std::string id;  // 32 hex digits: XXH3-128 of problem, profile, version and options
  bool operator==(const Plan&) const = default;
};

// "permute_tile.e2 tile=64x64 vector=4x4 wg=256 grid=6144x1x1 shared=8340 push=128"
std::string print(const Plan& plan);
std::string to_json(const Plan& plan);  // canonical: sorted keys, integers and strings; plan_from_json reads it

// How a backend's Device::prepare takes plans.
struct PrepareOptions {
  // Take a plan that was made for another profile than the device's. For a plan that was made offline for a target that
  // the device is like, and for tests that plan for a changed profile. The plan may use what the device does not have:
  // check_plan compares limits alone.
  bool any_profile = false;
};

struct DeviceProfile;

// The plan checker: every address slot and range lies inside its operand, the ranges of one step do not conflict, and
// two steps that access the same bytes, one of them writing, have a barrier between them.
Result<void> check_plan(const Plan& plan);
// The same, and that no step exceeds a limit of the profile (workgroup memory, invocations, push bytes, grid). The
// error names the limit.
Result<void> check_plan(const Plan& plan, const DeviceProfile& profile);

}  // namespace sectile
