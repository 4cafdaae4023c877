// Big matmuls.
#include "big_product.hpp"
#include "matmul.hpp"

#include "reference/matmul.hpp"

namespace sectile::tools {
namespace {

// Rows, columns and batches so far apart that a, b and d in turn have elements at indices from 2^31 on, and bytes from
// 2^31 and 2^32 on, at which NVIDIA's driver wraps; and dense ones of that size.
constexpr const char* kMatmuls[] = {
    "matmul i8 nn 129x64x64 lda=16777217",
    "matmul i8 tn 64x96x129 lda=16777217",
    "matmul i8 nt 64x129x64 ldb=16777217",
    "matmul i8 nn 5x129x4099 ldb=524417",
    "matmul i8 nn 33x65x70 batch=3 b.batch=1073741827",
    "matmul f32 nn 131x96x40 ldd=4194305 epi=bias+relu",
    "matmul f32 nn 3x300x40 ldd=306783380",
    "matmul f32 nn 70x65x33 beta=0.5 ldc=8388617",
    "matmul f16 nt 129x64x4000 ldd=16777221",
    "matmul f16 nt 257x64x48 lda=8388611",
    "matmul f16 nn 1x500x3000 ldb=715829",
    "matmul f32 nn 1025x64x64 ldd=1048577",
    "matmul i8 nn 65537x5x32769",
    "matmul i8 nt 3x65537x32769",
    "matmul i8 nt 23173x23173x8",
    "matmul i8 nn 46343x46343x8",
};

}  // namespace

std::vector<Problem> big_matmuls() {
  std::vector<Problem> cases;
  for (const char* const text : kMatmuls) cases.push_back(parse_problem(text).value());
  return cases;
}

std::unique_ptr<BigCase> big_matmul(const MatmulProblem& p) {
  return std::make_unique<BigProduct<reference::MatmulDefinition>>(p, p.batch * p.m * p.n * p.k);
}

}  // namespace sectile::tools
