// Matmuls whose operands a permute packs first.
#pragma once

#include "plan/gemm/gemm.hpp"
#include "plan/job.hpp"

namespace sectile::detail {

// Plans the GEMM of the job's operands, with A, B or both packed into scratch where that costs less: rows that begin
// anywhere become rows at multiples of 128 bytes, or of 16 where they are shorter, which copies without registers need,
// and int8 across K, which no matrix unit takes, lies along K. Candidates of packed operands end with " pack=a",
// " pack=b" or " pack=ab".
Result<void> plan_packed_or_stored(Job& job, const Gemm& gemm);

}  // namespace sectile::detail
