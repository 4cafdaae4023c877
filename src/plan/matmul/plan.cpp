// Plans a matmul: a GEMM of two stored operands.
#include "plan/gemm/plan.hpp"
#include "operation.hpp"
#include "packing.hpp"
#include "problem.hpp"

namespace sectile::detail {

Gemm gemm_of(const MatmulProblem& p) noexcept {
  Gemm g;
  g.type = p.type;
  g.a_type = p.a_type;
  g.b_type = p.b_type;
  g.b_format = p.b_format;
  g.acc = p.acc;
  g.out = p.out;
  g.m = p.m;
  g.n = p.n;
  g.k = p.k;
  g.batch = p.batch;
  g.transpose_a = p.transpose_a;
  g.transpose_b = p.transpose_b;
  g.at = effective(p);
  g.alpha = p.alpha;
  g.beta = p.beta;
  g.c_is_d = p.c_is_d;
  g.scale = p.scale;
  g.bias = p.bias;
  set_activation(g, activation_words(p));
  g.residual = p.residual;
  g.a_scale = p.a_scale;
  g.a_align = p.a_align;
  g.b_align = p.b_align;
  g.d_align = p.d_align;
  // A vector whose elements are adjacent lies along K as well as across it; more kernels take the former.
  if (g.m == 1 && g.transpose_a && g.at.lda == 1 && g.k <= kMostLd) {
    g.transpose_a = false;
    g.at.lda = g.k;
  }
  if (g.n == 1 && !g.transpose_b && g.at.ldb == 1 && g.k <= kMostLd) {
    g.transpose_b = true;
    g.at.ldb = g.k;
  }
  return g;
}

// None: a matmul candidate's name already states its tile.
std::span<const NamedConstant> Operation<MatmulProblem>::named_constants(std::string_view) { return {}; }

Result<void> Operation<MatmulProblem>::plan(Job& job, const MatmulProblem& problem) {
  auto specs = operands(problem);
  if (!specs) return std::unexpected(specs.error());
  for (const auto& spec : *specs)
    job.plan.operands.push_back(
        {spec.name, spec.written ? OperandRole::destination : OperandRole::source, spec.bytes, spec.align});
  return plan_packed_or_stored(job, gemm_of(problem));
}

std::string Operation<MatmulProblem>::unit_refusal(const MatmulProblem& problem, const Plan& plan,
                                                   const DeviceProfile& profile) {
  return gemm_unit_refusal(gemm_of(problem), plan, profile);
}

}  // namespace sectile::detail
