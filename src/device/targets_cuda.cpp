// CUDA architectures. What a chip has in its own number (multiprocessors, L2) is not the architecture's and stays
// unknown; the live profile has it.
#include "targets.hpp"

namespace sectile::detail {

namespace {

// libcudacxx/include/cuda/__device/arch_traits.h of NVIDIA's CCCL holds the CUDA C++ Programming Guide's table
// "Technical Specifications per Compute Capability" as constants.
constexpr std::string_view kTraits =
    "NVIDIA CCCL, cuda/__device/arch_traits.h; CUDA C++ Programming Guide, "
    "Technical Specifications per Compute Capability";
constexpr std::string_view kPtxas = "PTX ISA, Target ISA Notes; tried with ptxas 13.0";
constexpr std::string_view kTypes = "CUDA C++ Programming Guide: types of the language, in memory and arithmetic";
constexpr std::string_view kMemory = "CUDA C++ Best Practices Guide, Coalesced Access: 32-byte transactions";

constexpr Fact kCuda[] = {
    {"api", R"("cuda")", kNamed},
    {"vendor", R"("nvidia")", "CUDA is NVIDIA's"},
    {"vendor_id", "4318", "the PCI ID list: 0x10de is NVIDIA"},
    {"max_workgroup_invocations", "1024", kTraits},
    {"max_workgroup_size", "[1024,1024,64]", kTraits},
    {"max_grid", "[2147483647,65535,65535]", kTraits},
    {"workgroup_memory_bytes", "49152", kTraits},
    // From CUDA 12.1 on the limit is 32764 bytes; the oldest that Sectile loads is 12.0.
    {"max_push_bytes", "4096",
     "CUDA C++ Programming Guide, kernel parameters; ptxas 13.0 takes 4352 bytes of PTX 8.0 (CUDA 12.0)"},
    {"subgroup_size", "32", kTraits},
    {"min_subgroup_size", "32", kTraits},
    {"max_subgroup_size", "32", kTraits},
    {"buffer_device_address", "true", "CUDA kernels take pointers"},
    {"storage8", "true", kTypes},
    {"storage16", "true", kTypes},
    {"int8", "true", kTypes},
    {"int16", "true", kTypes},
    {"int64", "true", kTypes},
    {"float16", "true", "PTX ISA: add.f16 and fma.f16 from sm_53 on"},
    {"integer_dot_product", "true", "PTX ISA: dp4a from sm_61 on"},
    {"transaction_bytes", "32", kMemory},
    {"banks", "32", kCudaBanks},
    {"bank_bytes", "4", kCudaBanks},
    {"registers_per_multiprocessor", "65536", kTraits},
};

constexpr Fact kSm75[] = {
    {"cuda_architecture", "75", kNamed},
    {"cuda_architecture_features", "false", kNamed},
    {"bfloat16", "false", "PTX ISA: fma.bf16 from sm_80 on"},
    {"max_dynamic_workgroup_memory_bytes", "65536", kTraits},
    {"workgroup_memory_per_multiprocessor_bytes", "65536", kTraits},
    {"max_invocations_per_multiprocessor", "1024", kTraits},
    {"async_copy", "false", kPtxas},
    {"tensor_maps", "false", kPtxas},
    {"matrix_units", R"(["mma.sync"])", kPtxas},
};

constexpr Fact kSm80[] = {
    {"cuda_architecture", "80", kNamed},
    {"cuda_architecture_features", "false", kNamed},
    {"bfloat16", "true", "PTX ISA: fma.bf16 from sm_80 on"},
    {"max_dynamic_workgroup_memory_bytes", "166912", kTraits},
    {"workgroup_memory_per_multiprocessor_bytes", "167936", kTraits},
    {"max_invocations_per_multiprocessor", "2048", kTraits},
    {"async_copy", "true", kPtxas},
    {"tensor_maps", "false", kPtxas},
    {"matrix_units", R"(["mma.sync"])", kPtxas},
};

constexpr Fact kSm86[] = {
    {"cuda_architecture", "86", kNamed},
    {"cuda_architecture_features", "false", kNamed},
    {"bfloat16", "true", "PTX ISA: fma.bf16 from sm_80 on"},
    {"max_dynamic_workgroup_memory_bytes", "101376", kTraits},
    {"workgroup_memory_per_multiprocessor_bytes", "102400", kTraits},
    {"max_invocations_per_multiprocessor", "1536", kTraits},
    {"async_copy", "true", kPtxas},
    {"tensor_maps", "false", kPtxas},
    {"matrix_units", R"(["mma.sync"])", kPtxas},
};

constexpr Fact kSm89[] = {
    {"cuda_architecture", "89", kNamed},
    {"cuda_architecture_features", "false", kNamed},
    {"bfloat16", "true", "PTX ISA: fma.bf16 from sm_80 on"},
    {"max_dynamic_workgroup_memory_bytes", "101376", kTraits},
    {"workgroup_memory_per_multiprocessor_bytes", "102400", kTraits},
    {"max_invocations_per_multiprocessor", "1536", kTraits},
    {"async_copy", "true", kPtxas},
    {"tensor_maps", "false", kPtxas},
    {"matrix_units", R"(["mma.sync"])", kPtxas},
};

constexpr Fact kSm90a[] = {
    {"cuda_architecture", "90", kNamed},
    {"cuda_architecture_features", "true", kNamed},
    {"bfloat16", "true", "PTX ISA: fma.bf16 from sm_80 on"},
    {"max_dynamic_workgroup_memory_bytes", "232448", kTraits},
    {"workgroup_memory_per_multiprocessor_bytes", "233472", kTraits},
    {"max_invocations_per_multiprocessor", "2048", kTraits},
    {"async_copy", "true", kPtxas},
    {"tensor_maps", "true", kPtxas},
    {"matrix_units", R"(["mma.sync","wgmma"])", kPtxas},
};

// Without the a there is no tcgen05, and wgmma is sm_90a's alone.
constexpr Fact kSm100[] = {
    {"cuda_architecture", "100", kNamed},
    {"cuda_architecture_features", "false", kNamed},
    {"bfloat16", "true", "PTX ISA: fma.bf16 from sm_80 on"},
    {"max_dynamic_workgroup_memory_bytes", "232448", kTraits},
    {"workgroup_memory_per_multiprocessor_bytes", "233472", kTraits},
    {"max_invocations_per_multiprocessor", "2048", kTraits},
    {"async_copy", "true", kPtxas},
    {"tensor_maps", "true", kPtxas},
    {"matrix_units", R"(["mma.sync"])", kPtxas},
};

// Blackwell Ultra: sm_100's limits. tcgen05 wants the a or the f here too.
constexpr Fact kSm103[] = {
    {"cuda_architecture", "103", kNamed},
    {"cuda_architecture_features", "false", kNamed},
    {"bfloat16", "true", "PTX ISA: fma.bf16 from sm_80 on"},
    {"max_dynamic_workgroup_memory_bytes", "232448", kTraits},
    {"workgroup_memory_per_multiprocessor_bytes", "233472", kTraits},
    {"max_invocations_per_multiprocessor", "2048", kTraits},
    {"async_copy", "true", kPtxas},
    {"tensor_maps", "true", kPtxas},
    {"matrix_units", R"(["mma.sync"])", kPtxas},
};

// GeForce and workstation cards: sm_89's limits with tensor maps. ptxas refuses wgmma and tcgen05 for sm_120a as well.
constexpr Fact kSm120[] = {
    {"cuda_architecture", "120", kNamed},
    {"cuda_architecture_features", "false", kNamed},
    {"bfloat16", "true", "PTX ISA: fma.bf16 from sm_80 on"},
    {"max_dynamic_workgroup_memory_bytes", "101376", kTraits},
    {"workgroup_memory_per_multiprocessor_bytes", "102400", kTraits},
    {"max_invocations_per_multiprocessor", "1536", kTraits},
    {"async_copy", "true", kPtxas},
    {"tensor_maps", "true", kPtxas},
    {"matrix_units", R"(["mma.sync"])", kPtxas},
};

constexpr Target kCudaTargets[] = {
    {.name = "cuda:sm_75", .facts = kSm75, .family = kCuda},
    {.name = "cuda:sm_80", .facts = kSm80, .family = kCuda},
    {.name = "cuda:sm_86", .facts = kSm86, .family = kCuda},
    {.name = "cuda:sm_89", .facts = kSm89, .family = kCuda},
    {.name = "cuda:sm_90a", .facts = kSm90a, .family = kCuda},
    {.name = "cuda:sm_100", .facts = kSm100, .family = kCuda},
    {.name = "cuda:sm_103", .facts = kSm103, .family = kCuda},
    {.name = "cuda:sm_120", .facts = kSm120, .family = kCuda},
};

}  // namespace

std::span<const Target> cuda_targets() { return kCudaTargets; }

}  // namespace sectile::detail
