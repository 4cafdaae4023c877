// The numbers of each class of devices.
#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sectile::detail {

namespace {

// NVIDIA H200, driver 580.159.04, 2026-11-21 to 23. Permute: the device's bandwidth and issue rate, and `sectile bench
// --preset seeds-permute --all-candidates`. Matmul: fitted with the rows' rates to some 1500 measurements of 60 shapes,
// `sectile bench "matmul ..." --all-candidates` (docs/lab/2026-11.md).
constexpr CostModel kHopper = {
    .name = "nvidia-hopper",
    .measured = "NVIDIA H200, driver 580.159.04, 2026-11-21 to 23",
    // For profiles that do not state a count. GH100 has 132; all rates below are of one multiprocessor.
    .multiprocessors = 64,
    .multiprocessors_to_fill = 16,
    .multiprocessors_of_few_tiles = 64,
    .permute =
        {
            .byte = 33,          // 4 TB/s over 132 multiprocessors
            .instruction = 147,  // four a clock at 1.7 GHz
            .bank_pass = 590,    // one a clock
            .overlap_divisor = 8,
            .resident = 4,
        },
    .gemm =
        {
            .clock_picoseconds = 555,  // 1.8 GHz: the clock at which the rates below were fitted
            .latency = 1025,
            .latency_pipelined = 850,
            .latency_l2_prefetch = 700,
            // Fitted to 1024 measurements of 29 convolutions, Vulkan and CUDA, `sectile bench "conv2d ..."
            // --all-candidates`, 2026-11-25: of the choices 1.03 times the fastest, before 1.28.
            .gathered_latency = 80,
            .gathered_issue = 8,
            .barriers = 215,
            .workgroup_start = 4000,
            .second_step = 10000,
            .permute_step = 3000,  // 2026-11-25, as gathered_latency: f16 images of 8 to 20 us
            .cache_bytes = 89,
            .stored_elements = 24,
            .matrix_rate = 1215,
            .scalar_rate = 128,
            .schedulers = 4,
            .dot_rate = 512,
            .dram_bytes = 2300,
            // Nine products and convolutions in 1 to 8 splits, 2026-11-26: 1.0 to 1.6 TB/s, but 8 MB cost little
            // (docs/lab/2026-11.md).
            .split_bytes = 770,
            .bank_pass_divisor = 2,
            .exposed_staging_permille = 1500,
            // Fitted to 128x192, 128x128 and 64x128 with tails, 2026-11-23 (docs/lab/2026-11.md, the sixth round).
            .tail_permille = 1500,
            .most_resident = 16,
            .reserved_bytes = 1024,
            .driver_staged_bytes = 36864,
        },
    .permute_cpu = {},
    .gemm_cpu = {},
};

// A GPU without measurements has Hopper's multiprocessors, as many as the profile states, each with the same share of
// the bandwidth. The vendors' figures for other GPUs (GeForce RTX 4090, Radeon RX 7900 XTX, Arc B580: 8 to 23 GB/s and
// 256 to 1090 f16 multiply-adds a clock for each multiprocessor) were tried in place of Hopper's rates, 2026-11-23.
// They gave bad choices: a row's rate is a fraction of what Hopper's matrix unit reaches, and with the lower rates a
// device with small matrix shapes (Xe2) got a kernel without the matrix unit for f16 4096x4096x4096. Other rates need
// rows measured on that class.
constexpr CostModel generic_gpu() {
  CostModel model = kHopper;
  model.name = "gpu";
  model.measured = {};
  return model;
}
constexpr CostModel kGpu = generic_gpu();
constexpr std::uint32_t kHopperMultiprocessors = 132;

// lavapipe 26.1.6 and SwiftShader on two cores (Xeon Sapphire Rapids and AMD EPYC), 2026-11-21 to 23. Every access is
// one scalar access per lane, so the cost follows their number and width. `sectile bench PROBLEM --device llvmpipe
// --all-candidates`.
constexpr CostModel kCpu = {
    .name = "cpu",
    .measured = "lavapipe 26.1.6 and SwiftShader on two Xeon or EPYC cores, 2026-11-21 to 23",
    .multiprocessors = 2,
    .multiprocessors_to_fill = 16,
    .multiprocessors_of_few_tiles = 64,
    .permute = {},
    .gemm = {},
    .permute_cpu =
        {
            .request = {100, 400, 400, 500, 600, 300},
            .request_bytes = 10,
            .load = 200,
            .store = 300,
            .instruction = 10,
            // The geometric mean of nine permutes on lavapipe (two AMD EPYC cores, 2026-11-23); each is within a factor
            // of 3.5 of it. These costs rank the candidates of one problem; they do not predict a CPU's times.
            .scale = 9000,
        },
    // The median of seven matmuls on lavapipe, as above.
    .gemm_cpu = {.ps_per_kfma = 2500000, .second_step = 25000000},
};

// GH100: the PCI device IDs 0x2300 to 0x23ff (NVIDIA, open-gpu-doc, "PCI IDs"; H100 0x2330, H200 0x2335).
bool is_hopper(const DeviceProfile& p) {
  if (p.api == Api::cuda) return p.cuda_architecture == 90;
  return p.vendor == "nvidia" && (p.device_id == 0 ? p.name == "nvidia-hopper" : p.device_id >> 8 == 0x23);
}

}  // namespace

CostModel cost_model_of(const DeviceProfile& profile) noexcept {
  if (profile.kind == DeviceKind::cpu) return kCpu;
  if (is_hopper(profile)) return kHopper;
  CostModel model = kGpu;
  const auto scaled = [&](std::uint32_t of_hopper) {
    const std::uint64_t whole = std::uint64_t{of_hopper} * profile.multiprocessors.value_or(model.multiprocessors);
    return std::max(1u, static_cast<std::uint32_t>(whole / kHopperMultiprocessors));
  };
  model.gemm.dram_bytes = scaled(kHopper.gemm.dram_bytes);
  model.gemm.split_bytes = scaled(kHopper.gemm.split_bytes);
  return model;
}

std::string describe(const CostModel& model) {
  if (!model.measured.empty()) return fmt::format("model {}, measured on {}", model.name, model.measured);
  return fmt::format("model {}: nothing was measured on this class of devices, rows are taken as measured on {}",
                     model.name, kHopper.name);
}

}  // namespace sectile::detail
