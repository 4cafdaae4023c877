#include "operand.hpp"
#include "context.hpp"

namespace sectile::detail {

StoredMatrix::StoredMatrix(const Gemm& g, bool b, std::uint32_t type) noexcept
    : name_(b ? "b" : "a"),
      type_(type),
      align_(b ? g.b_align : g.a_align),
      rows_(b ? g.n : g.m),
      k_(g.k),
      ld_(b ? g.at.ldb : g.at.lda),
      batch_(b ? g.at.b_batch : g.at.a_batch),
      batched_(g.batch > 1),
      along_k_(b ? g.transpose_b : !g.transpose_a) {}

std::uint32_t StoredMatrix::width(std::uint32_t most) const {
  return widest_access(type_, most, align_, ld_, batched_ ? batch_ : 0, along_k_ ? k_ : rows_);
}

bool StoredMatrix::offsets_fit(std::int64_t rows, std::int64_t tile_k, Refusal& refusal) const {
  return along_k_ ? rows_fit(name_, rows, ld_, tile_k, type_, refusal)
                  : rows_fit(name_, tile_k, ld_, rows, type_, refusal);
}

}  // namespace sectile::detail
