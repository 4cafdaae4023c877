// How a GEMM's kernels read A or B: what they may read at once, how far that reaches, and where an element lies.
#pragma once

#include "gemm.hpp"
#include "plan/refusal.hpp"
#include "plan/strategy.hpp"

#include <sectile/plan.hpp>

#include <cstdint>
#include <string_view>

namespace sectile::detail {

// Rows of an operand are those along M or N, whichever way it is stored.
class GemmOperand {
 public:
  static constexpr std::uint32_t kMostWords = 19;

  GemmOperand() = default;
  GemmOperand(const GemmOperand&) = delete;
  GemmOperand& operator=(const GemmOperand&) = delete;
  virtual ~GemmOperand() = default;

  // The widest access in elements, at most `most`.
  virtual std::uint32_t width(std::uint32_t most) const = 0;
  // Whether offsets below 2^31 bytes reach all that a tile of so many rows and so much K reads.
  virtual bool offsets_fit(std::int64_t rows, std::int64_t tile_k, Refusal& refusal) const = 0;
  // The offset in elements of row `row` of a tile, `k` from its first step on, in a tile inside the operand. -1: it is
  // not read.
  virtual std::int64_t element(std::uint32_t row, std::uint32_t k) const = 0;
  // Elements that one batch reads, each counted once.
  virtual std::int64_t elements() const = 0;
  // All batches read the same elements.
  virtual bool shared_by_batches() const { return false; }
  // Elements between the addresses of two rows where a step begins at a later row; 0: the address stays, and the kernel
  // has the row as a word.
  virtual std::int64_t row_step() const { return 0; }
};

// An operand that is computed as it is read, such as an image that a convolution reads as a matrix. Kernels of their
// own fetch it; the operation that has it describes them.
class GatheredOperand : public GemmOperand {
 public:
  // Constants beside those of a GEMM, of a kernel with so much K a step.
  virtual FixedList<Constant, 8> constants(std::uint32_t tile_k) const = 0;
  // The kernel's GATHERED_WORDS, packed, of a step that begins with this row of the whole A.
  virtual FixedList<std::uint32_t, kMostWords> words(std::int64_t first_row) const = 0;

  bool is_b = false;             // otherwise A
  bool flattened_batch = false;  // B: the columns of all batches are one matrix's
  // B, contiguous along N, as the matrix unit's kernel loads it: one load serves so many consecutive k. 0: not so.
  std::uint32_t taps_per_load = 0;
  FixedList<Constant, 2> tap_constants;      // that the kernel then has besides
  const char *simt = "", *coopmat = "";      // stems
  const char* coopmat_suffix = "";           // what the variants' names end with
  FixedList<std::string_view, 2> addresses;  // operands whose addresses follow a GEMM's (EXTRA_ADDRESS_WORDS)
};

// A matrix in memory: element (row, k) of A or B, at row * ld + k or k * ld + row.
class StoredMatrix final : public GemmOperand {
 public:
  // `type`: as stored, a SECTILE_TYPE.
  StoredMatrix(const Gemm& gemm, bool b, std::uint32_t type) noexcept;

  std::uint32_t width(std::uint32_t most) const override;
  bool offsets_fit(std::int64_t rows, std::int64_t tile_k, Refusal& refusal) const override;
  std::int64_t element(std::uint32_t row, std::uint32_t k) const override {
    return along_k_ ? row * ld_ + k : k * ld_ + row;
  }
  std::int64_t elements() const override { return rows_ * k_; }
  bool shared_by_batches() const override { return batch_ == 0; }
  std::int64_t row_step() const override { return along_k_ ? ld_ : 1; }

 private:
  const char* name_;
  std::uint32_t type_, align_;
  std::int64_t rows_, k_, ld_, batch_;
  bool batched_, along_k_;
};

}  // namespace sectile::detail
