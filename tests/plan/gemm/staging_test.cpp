// The model of a tile's registers and workgroup memory, by its own arithmetic, and what plans take from it.
#include "plan/gemm/staging.hpp"
#include "plan/gemm/context.hpp"
#include "plan/gemm/cost.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sectile;
using namespace sectile::detail;

namespace {

// What a multiprocessor of NVIDIA's has, with none of it reserved.
constexpr Multiprocessor kMultiprocessor = {
    .registers = 65536, .memory_bytes = 49152, .invocations = 2048, .most_workgroups = 16, .reserved_bytes = 0};

// 128x64, steps of 32, f16, with 16 bytes after each line.
constexpr Staging halves() {
  Staging s;
  s.a = {.rows = 128, .k = 32, .along_k = true, .element_bytes = 2, .padding_bytes = 16};
  s.b = {.rows = 64, .k = 32, .along_k = false, .element_bytes = 2, .padding_bytes = 16};
  return s;
}

}  // namespace

TEST_CASE("an operand's tile has a line for each row or for each k, and padding after each") {
  const Staging s = halves();
  CHECK(s.a.lines() == 128);
  CHECK(s.a.line_bytes() == 64);
  CHECK(s.a.pitch() == 80);
  CHECK(s.a.bytes() == 10240);
  CHECK(s.b.lines() == 32);
  CHECK(s.b.line_bytes() == 128);
  CHECK(s.b.pitch() == 144);
  CHECK(s.b.bytes() == 4608);
  CHECK(s.step_bytes() == 14848);
  CHECK(StagedOperand{}.bytes() == 0);
  // One row of 70 words, and of 3 bytes.
  CHECK(StagedOperand{.rows = 1, .k = 70, .along_k = true}.bytes() == 288);
  CHECK(StagedOperand{.rows = 3, .k = 1, .element_bytes = 1}.bytes() == 16);
}

TEST_CASE("stages multiply the operands, and the result lies beside them or where they were") {
  Staging s = halves();
  CHECK(s.memory_bytes() == 14848);
  s.stages = 2;
  CHECK(s.memory_bytes() == 29696);
  s.result_bytes = 1000;
  CHECK(s.memory_bytes() == 30696);
  s.sums_bytes = 24;
  CHECK(s.memory_bytes() == 30720);
  s.result_in_place = true;
  CHECK(s.memory_bytes() == 29720);
  s.result_bytes = 32768;
  CHECK(s.memory_bytes() == 32792);
}

TEST_CASE("what the driver's compiler stages is reserved by the device and taken as measured") {
  Staging s;
  CHECK(s.memory_bytes() == 0);
  CHECK(s.resident_bytes() == 0);
  s.reserved_bytes = 4096;
  CHECK(s.memory_bytes() == 4096);
  CHECK(s.resident_bytes() == 4096);
  s.taken_bytes = 36864;
  CHECK(s.memory_bytes() == 4096);
  CHECK(s.resident_bytes() == 36864);
  CHECK(occupancy_of(s, 128, kMultiprocessor) == 1);
}

TEST_CASE("an invocation holds accumulators, fragments, loads and some more") {
  // A subgroup's 64x64 by f32 sums and by f16 ones; a matrix of 16x16 halves.
  CHECK(registers_of_share(64 * 64, 4, 32) == 128);
  CHECK(registers_of_share(64 * 64, 2, 32) == 64);
  CHECK(registers_of_share(16 * 16, 2, 64) == 2);
  // 300 runs of 128 invocations: some have three, and so all hold three.
  const LoadedRuns runs{.runs = 300, .invocations = 128, .registers = 5};
  CHECK(runs.each() == 3);
  CHECK(runs.held() == 15);
  CHECK(LoadedRuns{.runs = 256, .invocations = 128, .registers = 5}.each() == 2);
  CHECK(LoadedRuns{.runs = 1, .invocations = 128, .registers = 4}.held() == 4);
  CHECK(LoadedRuns{}.held() == 0);
  const HeldRegisters held{.accumulators = 128, .fragments = 16, .in_flight = runs.held()};
  CHECK(held.total() == 128 + 16 + 15 + 24);
  CHECK(HeldRegisters{.others = 112}.total() == 112);
}

TEST_CASE("the scarcest of a multiprocessor's resources limits its workgroups") {
  Staging s;
  s.registers = {.accumulators = 8, .others = 24};
  CHECK(occupancy_of(s, 128, kMultiprocessor) == 16);  // 65536 / (32 * 128), and as many are allowed
  CHECK(occupancy_of(s, 64, kMultiprocessor) == 16);
  CHECK(occupancy_of(s, 256, kMultiprocessor) == 8);  // invocations and registers
  s.registers.in_flight = 1;                          // 33, allotted as 40
  CHECK(occupancy_of(s, 128, kMultiprocessor) == 12);
  s.registers.in_flight = 8;
  CHECK(occupancy_of(s, 128, kMultiprocessor) == 12);
  s.registers.in_flight = 9;
  CHECK(occupancy_of(s, 128, kMultiprocessor) == 10);
  s.registers = {.accumulators = 700};
  CHECK(occupancy_of(s, 1024, kMultiprocessor) == 1);  // none, but one is what a cost is for
}

TEST_CASE("workgroup memory limits them with what the driver reserves in each") {
  Staging s = halves();
  CHECK(occupancy_of(s, 128, kMultiprocessor) == 3);  // 49152 / 14848
  Multiprocessor reserving = kMultiprocessor;
  reserving.reserved_bytes = 1536;
  CHECK(occupancy_of(s, 128, reserving) == 3);  // 16384 each
  reserving.reserved_bytes = 1537;
  CHECK(occupancy_of(s, 128, reserving) == 2);
  s.stages = 2;
  CHECK(occupancy_of(s, 128, kMultiprocessor) == 1);
  // Without memory of its own a workgroup has none reserved.
  reserving.reserved_bytes = 49152;
  CHECK(occupancy_of(Staging{}, 128, reserving) == 16);
}

// What a device with every unit takes of each strategy's rows.
TEST_CASE("every strategy fills the model with what its step declares") {
  DeviceProfile profile = builtin_target("nvidia-hopper").value();
  profile.cooperative_matrix_tensor_addressing = true;
  profile.matrix_reserved_workgroup_memory_bytes = 16384;
  for (const std::uint32_t invocations : {128u, 256u})
    profile.matrix_shapes.push_back({.m = 32,
                                     .n = 32,
                                     .k = 16,
                                     .a = "f16",
                                     .b = "f16",
                                     .c = "f32",
                                     .result = "f32",
                                     .scope = "workgroup",
                                     .workgroup_invocations = invocations,
                                     .flexible = true});
  const DeviceProfile cuda = builtin_target("cuda:sm_90a").value();
  Gemm gemm;
  gemm.type = gemm.a_type = gemm.b_type = gemm.out = DType::f16;
  gemm.m = gemm.n = gemm.k = 512;
  gemm.transpose_b = true;
  gemm.at = {.lda = 512, .ldb = 512, .ldc = 512, .ldd = 512, .ldr = 512};
  Gemm skinny = gemm;
  skinny.m = 1;
  for (const GemmStrategy* strategy : gemm_strategies()) {
    CAPTURE(std::string(strategy->stem));
    const bool mma = strategy == &kGemmMma || strategy == &kGemmWgmma;
    const GemmContext c = gemm_context(strategy == &kGemmMatvec ? skinny : gemm, mma ? cuda : profile);
    std::size_t admitted = 0;
    for (std::uint32_t row = 0; row < strategy->rows_for(c); ++row) {
      Refusal refusal(false);
      if (!strategy->applicable(c, row, refusal)) continue;
      ++admitted;
      const GemmConfig d = strategy->make(c, row);
      CAPTURE(strategy->print(c, row));
      const Staging& s = d.staging;
      CHECK(s.registers.accumulators >= 1);
      CHECK(s.registers.total() > s.registers.accumulators + 24);
      CHECK(s.registers.total() <= 255);
      CHECK(s.memory_bytes() <= (mma ? c.limits.dynamic_workgroup_memory : c.limits.workgroup_memory));
      // Who multiplies from workgroup memory stages a step of K there.
      const bool stages = strategy == &kGemmSimt || strategy == &kGemmCoopmat || mma;
      CHECK((s.a.lines() != 0 && s.b.lines() != 0) == stages);
      if (stages) {
        CHECK(s.a.rows == d.tile_m);
        CHECK(s.b.rows == d.tile_n);
        CHECK(s.a.k == d.tile_k);
        CHECK(s.b.k == d.tile_k);
      }
      CHECK((s.taken_bytes != 0) == (d.unit == Unit::coopmat2));
      const std::uint64_t occupancy = gemm_occupancy(c, s, d.workgroup);
      CHECK(occupancy >= 1);
      CHECK((occupancy == 1 || occupancy * d.workgroup * s.registers.total() <= 65536));
    }
    CHECK(admitted != 0);
  }
}
