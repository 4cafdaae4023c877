// What the planner claims of a step of K of matmul_coopmat (Candidate::interior) against what its GLSL does. There is
// nothing to emulate it by, so what follows is a reading of shaders/gemm/coopmat_fetch.glsl, coopmat_side.glsl and
// coopmat.glsl: the accesses of each invocation, one by one, counted by counts.hpp. It shares no code with
// src/plan/gemm/coopmat.cpp. conv2d_coopmat's gathered operands are not read so.
#include "product_accesses.hpp"

#include "support/scope.hpp"

#include "gemm/gemm.abi.h"
#include "gemm/matmul_coopmat.abi.h"

#include <set>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::emulated;

namespace {

// An operand's tile: rows along its contiguous axis, in chunks of 16 bytes.
struct StagedTile {
  bool along_k = false;
  std::uint32_t rows = 0, chunks = 0, pitch = 0, start = 0;  // the last two in chunks
  std::uint32_t width = 1, half_bytes = 4;                   // elements of an access; half bytes of one in memory
  std::uint32_t elements = 8;                                // of a chunk
  std::uint64_t ld = 0;
};

class CoopmatStep {
 public:
  CoopmatStep(const Step& step, const MatmulProblem& p) : step_(step), workgroup_(step.workgroup[0]) {
    bytes_ = of(GEMM_SPEC_TYPE) == SECTILE_TYPE_I8 ? 1 : 2;
    const std::uint32_t m = of(GEMM_SPEC_TILE_M), n = of(GEMM_SPEC_TILE_N), k = of(GEMM_SPEC_TILE_K);
    a_ = tile(of(GEMM_SPEC_TRANS_A) == 0, m, k, of(GEMM_SPEC_WIDTH_A), of(GEMM_SPEC_A_TYPE));
    b_ = tile(of(GEMM_SPEC_TRANS_B) != 0, n, k, of(GEMM_SPEC_WIDTH_B), of(GEMM_SPEC_B_TYPE));
    a_.ld = static_cast<std::uint64_t>(p.transpose_a ? p.m : p.k);
    b_.ld = static_cast<std::uint64_t>(p.transpose_b ? p.k : p.n);
    b_.start = a_.rows * a_.pitch;
  }

  std::vector<Access> accesses() {
    for (const bool second : {false, true}) {
      operand_ = second ? std::uint64_t{1} << 40 : 0;
      load_and_stage(second ? b_ : a_);
    }
    const std::uint32_t sub_m = of(MATMUL_COOPMAT_SPEC_SUB_M), sub_n = of(MATMUL_COOPMAT_SPEC_SUB_N);
    const std::uint32_t tile_k = of(GEMM_SPEC_TILE_K), slices = of(MATMUL_COOPMAT_SPEC_SLICE_K);
    const std::uint32_t lanes = of(MATMUL_COOPMAT_SPEC_SUBGROUP), frag_k = of(MATMUL_COOPMAT_SPEC_FRAG_K);
    const std::uint32_t across = of(GEMM_SPEC_TILE_N) / sub_n, subs = of(GEMM_SPEC_TILE_M) / sub_m * across;
    for (std::uint32_t subgroup = 0; subgroup < workgroup_ / lanes; ++subgroup) {
      const std::uint32_t id = subgroup % subs, m = id / across * sub_m, n = id % across * sub_n;
      const std::uint32_t first_k = subgroup / subs * (tile_k / slices);
      first_lane_ = subgroup * lanes;
      instruction_ = kFragments;  // the same for all subgroups
      for (std::uint32_t k = first_k; k < first_k + tile_k / slices; k += frag_k) {
        for (std::uint32_t i = 0; i < sub_m; i += of(MATMUL_COOPMAT_SPEC_FRAG_M))
          fragment(a_, m + i, k, of(MATMUL_COOPMAT_SPEC_FRAG_M), frag_k, lanes);
        for (std::uint32_t j = 0; j < sub_n; j += of(MATMUL_COOPMAT_SPEC_FRAG_N))
          fragment(b_, n + j, k, of(MATMUL_COOPMAT_SPEC_FRAG_N), frag_k, lanes);
      }
    }
    return std::move(accesses_);
  }

  // Fragments are whole blocks of eight rows of a chunk.
  bool whole_blocks() const {
    const auto fits = [&](const StagedTile& t, std::uint32_t side) {
      const std::uint32_t k = of(MATMUL_COOPMAT_SPEC_FRAG_K);
      return (t.along_k ? side : k) % 8 == 0 && (t.along_k ? k : side) % t.elements == 0;
    };
    return fits(a_, of(MATMUL_COOPMAT_SPEC_FRAG_M)) && fits(b_, of(MATMUL_COOPMAT_SPEC_FRAG_N));
  }
  // What a subgroup loads of each operand in a step is so many whole requests.
  bool whole_requests() const {
    const std::uint32_t k = of(GEMM_SPEC_TILE_K) * bytes_ / 16, lanes = of(MATMUL_COOPMAT_SPEC_SUBGROUP);
    return of(MATMUL_COOPMAT_SPEC_SUB_M) * k % lanes == 0 && of(MATMUL_COOPMAT_SPEC_SUB_N) * k % lanes == 0;
  }
  // All invocations have as many chunks as the others.
  bool even() const { return a_.rows * a_.chunks % workgroup_ == 0 && b_.rows * b_.chunks % workgroup_ == 0; }

 private:
  static constexpr std::uint64_t kFragments = 1u << 30;

  std::uint32_t of(std::uint32_t id) const { return constant_of(step_, id); }

  StagedTile tile(bool along_k, std::uint32_t side, std::uint32_t k, std::uint32_t width, std::uint32_t type) const {
    StagedTile t;
    t.along_k = along_k;
    t.elements = 16 / bytes_;
    t.rows = along_k ? side : k;
    t.chunks = (along_k ? k : side) / t.elements;
    t.pitch = t.chunks + of(MATMUL_COOPMAT_SPEC_PAD);
    t.width = width;
    t.half_bytes = type == SECTILE_TYPE_Q4 ? 1 : type == SECTILE_TYPE_I8 ? 2 : type == SECTILE_TYPE_F32 ? 8 : 4;
    return t;
  }

  // chunk_position()
  std::pair<std::uint32_t, std::uint32_t> position(const StagedTile& t, std::uint32_t load, std::uint32_t lane) const {
    if (workgroup_ % (8 * t.chunks) == 0) {
      const std::uint32_t first = load * (workgroup_ / t.chunks);
      if (t.chunks == 4) return {first + lane / 32 * 8 + lane / 4 % 2 * 4 + lane / 8 % 4, lane % 4};
      if (t.chunks == 2) return {first + lane / 16 * 8 + lane / 2 % 4 * 2 + lane / 8 % 2, lane % 2};
      return {first + lane / t.chunks, lane % t.chunks};
    }
    const std::uint32_t q = lane + load * workgroup_;
    return {q / t.chunks, q % t.chunks};
  }

  // fetch_stored_chunk(), stage_prefetched_chunks(). An int8 chunk is stored in two halves: compilers join such stores.
  void load_and_stage(const StagedTile& t) {
    const std::uint32_t loads = (t.rows * t.chunks + workgroup_ - 1) / workgroup_;
    for (std::uint32_t load = 0; load < loads; ++load) {
      for (std::uint32_t lane = 0; lane < workgroup_; ++lane) {
        const auto [row, chunk] = position(t, load, lane);
        const std::uint64_t inside = std::min(row, t.rows - 1);  // surplus invocations load from the last row
        for (std::uint32_t i = 0; i < t.elements / t.width; ++i) {
          const std::uint64_t element = inside * t.ld + chunk * t.elements + i * t.width;
          add(Access::Kind::load, std::max(1u, t.width * t.half_bytes / 2), lane, instruction_ + 1 + i,
              operand_ + element * t.half_bytes / 2);
        }
        if (row < t.rows)
          add(Access::Kind::workgroup, 16, lane, instruction_, 16ull * (t.start + row * t.pitch + chunk));
      }
      instruction_ += 32;
    }
  }

  // coopMatLoad() as NVIDIA's ldmatrix does it: a fragment is blocks of eight rows of 16 bytes, a lane has the address
  // of one such row, and a subgroup loads as many blocks as it has lanes for.
  void fragment(const StagedTile& t, std::uint32_t side, std::uint32_t k, std::uint32_t sides, std::uint32_t ks,
                std::uint32_t lanes) {
    const std::uint32_t first_row = t.along_k ? side : k, rows = t.along_k ? sides : ks;
    const std::uint32_t first = t.along_k ? k : side, elements = t.along_k ? ks : sides;
    std::uint32_t lane = 0;
    for (std::uint32_t element = first; element < first + elements; element += t.elements)
      for (std::uint32_t row = first_row; row < first_row + rows; ++row) {
        add(Access::Kind::workgroup, 16, first_lane_ + lane, instruction_,
            16ull * (t.start + row * t.pitch + element / t.elements));
        if (++lane % lanes == 0) {
          lane = 0;
          ++instruction_;
        }
      }
    ++instruction_;
  }

  void add(Access::Kind kind, std::uint32_t bytes, std::uint32_t lane, std::uint64_t instruction,
           std::uint64_t address) {
    accesses_.push_back({kind, bytes, lane, 0, instruction, address});
  }

  const Step& step_;
  std::uint32_t workgroup_, bytes_ = 2, first_lane_ = 0;
  StagedTile a_, b_;
  std::uint64_t operand_ = 0, instruction_ = 0;
  std::vector<Access> accesses_;
};

Claims coopmat_promise(const CoopmatStep& step) {
  Claims claims{};
  // A chunk's first run stands for its others. Those of invocations without a chunk touch less, where rows do not begin
  // with a transaction.
  if (!step.even()) claims.front() = within(15);
  // Part of a request of a subgroup's fragments is none.
  if (!step.whole_requests()) claims.back().kind = Claim::Kind::none;
  return claims;
}

// Targets that have the matrices and say how their memory is cut.
std::vector<DeviceProfile> with_matrices() {
  std::vector<DeviceProfile> profiles;
  for (const std::string_view name : builtin_target_names()) {
    DeviceProfile profile = emulated::target(std::string(name).c_str());
    if (profile.api == Api::vulkan && profile.cooperative_matrix.value_or(false) && profile.banks.has_value() &&
        profile.bank_bytes.has_value() && profile.transaction_bytes.has_value())
      profiles.push_back(std::move(profile));
  }
  return profiles;
}

}  // namespace

TEST_CASE("claims of matmul_coopmat are what its GLSL does") {
  std::size_t compared = 0, conflicting = 0, turn = 0;
  const std::size_t every = test::scope<std::size_t>(1, 5, 41);
  std::set<std::string> targets;
  for (const DeviceProfile& profile : with_matrices()) {
    CAPTURE(profile.name);
    for (const char* text :
         {"matmul f16 nn 512x768x1024", "matmul f16 nt 512x768x1024", "matmul f16 tn 512x768x1024",
          "matmul f16 tt 512x768x1024", "matmul f16 nt 512x768x1024 acc=f16", "matmul bf16 tn 512x768x1024",
          "matmul i8 nn 512x768x1024", "matmul i8 nt 512x768x1024", "matmul i8 tn 512x768x1024",
          "matmul i8 tt 512x768x1024", "matmul f16 nt 516x772x1028", "matmul f16 nt 512x768x1024 b=q4"}) {
      CAPTURE(std::string(text));
      const Problem problem = *parse_problem(text);
      const auto plan = make_plan(problem, profile, {.explain = true});
      REQUIRE(plan.has_value());
      for (const Candidate& candidate : plan->candidates) {
        if (!candidate.refusal.empty() || stem_of(candidate) != "matmul_coopmat" || turn++ % every != 0) continue;
        CAPTURE(candidate.name);
        const Plan forced = plan_by(problem, profile, candidate.name);
        CoopmatStep step(forced.steps.at(0), std::get<MatmulProblem>(problem));
        if (!step.whole_blocks()) continue;
        const Claims claims = coopmat_promise(step);
        const AccessCount found = count_of(step.accesses(), profile);
        const auto wrong = disagreement(claims, candidate.interior, found);
        CHECK_MESSAGE(wrong.empty(), wrong);
        ++compared;
        conflicting += found.bank_conflicts != 0 ? 1 : 0;
        targets.insert(profile.name);
      }
    }
  }
  CHECK(targets.size() >= test::scope<std::size_t>(6, 6, 1));
  CHECK(conflicting * 10 >= compared);
  MESSAGE(compared << " rows on " << targets.size() << " targets, " << conflicting << " with bank conflicts");
}
