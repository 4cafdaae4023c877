// permute_words: elements of 1 or 2 bytes on a device whose shaders load and store 32-bit words only.
#include "footprint.hpp"
#include "strategy.hpp"

#include "permute/permute_words.abi.h"

namespace sectile::detail {

namespace permute_words {
namespace {

constexpr std::uint32_t kWorkgroups[] = {64};

bool applicable(const PermuteContext& c, std::uint32_t, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  if (c.nest.element_bytes > 2) return refusal.no("elements of {} bytes are already whole words", c.nest.element_bytes);
  return true;
}

// The most words that a run can span: a contiguous run may begin anywhere in its first word.
std::uint32_t words_of_run(const Nest& nest) {
  if (nest.rank == 0) return 1;
  const auto& run = nest.axis[0];
  if (run.dst_stride != 1) return static_cast<std::uint32_t>(run.extent);
  return static_cast<std::uint32_t>((run.extent * nest.element_bytes + 3) / 4 + 1);
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  PermuteConfig d;
  d.stem = "permute_words";
  d.element_bytes = c.nest.element_bytes;
  // The kernel computes byte offsets, which must stay below 2^31.
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  d.offset64 = c.offset64 || (c.nest.src_span() + 4) * c.nest.element_bytes >= limit ||
               (c.nest.dst_span() + 4) * c.nest.element_bytes >= limit;
  d.workgroup = kWorkgroups[row];
  NestAxis run = c.nest.rank > 0 ? c.nest.axis[0] : NestAxis{1, 1, 1, {}};
  d.add_axis(run, words_of_run(c.nest));
  std::uint64_t ids = words_of_run(c.nest);
  for (int a = 1; a < c.nest.rank; ++a) {
    const auto& axis = c.nest.axis[static_cast<std::size_t>(a)];
    d.add_axis(axis, static_cast<std::uint32_t>(axis.extent));
    ids *= static_cast<std::uint64_t>(axis.extent);
  }
  d.set_own(PermuteWordsWords{.run_elements = static_cast<std::uint32_t>(run.extent)});
  d.groups = ceil_div(ids, d.workgroup);
  return d;
}

// What is small has it only on devices that lack accesses of the element's size. With them a GPU moves elements of 2
// bytes no slower by others: choices of f16 are 1.032 and 1.030 times the best's time with it, 1.031 and 1.030 without
// (H200, 2026-11-29, CUDA and Vulkan, `calibrate --op permute`).
Eligibility eligibility(const PermuteContext& c, std::uint32_t) {
  const bool stores =
      c.profile.storage16.value_or(false) && (c.nest.element_bytes == 2 || c.profile.storage8.value_or(false));
  return last_resort_if(stores && (c.small() || (!c.cpu() && c.nest.element_bytes == 2)));
}

PermuteEstimate estimate(const PermuteContext& c, std::uint32_t, const PermuteConfig& d) {
  PermuteEstimate e;
  e.groups = d.groups;
  e.addressing = Addressing::words;
  // Scalar gathers of one element: more expensive than any other admissible kernel.
  const std::uint64_t elements = std::uint64_t{d.workgroup} * 4 / c.nest.element_bytes;
  e.interior.load_requests = ceil_div(elements, 4);
  e.interior.load_transactions = c.cpu() || c.nest.reads_nothing() ? elements : merged_loads(c, elements).transactions;
  e.interior.store_requests = ceil_div(d.workgroup, 32);
  e.interior.store_transactions = ceil_div(std::uint64_t{d.workgroup} * 4, 32);
  e.interior.ideal_load_transactions = e.interior.ideal_store_transactions = e.interior.store_transactions;
  e.edge = e.interior;
  e.instructions = elements * 4;
  return e;
}

std::string print_row(const std::uint32_t& r) { return fmt::format("wg{}", r); }
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kWorkgroups[row]); }

constexpr PermuteStrategy kStrategy = {
    "permute_words", CostTable::permute_words, std::size(kWorkgroups), applicable, make, estimate, eligibility, print};

}  // namespace
}  // namespace permute_words

const PermuteStrategy kWords = permute_words::kStrategy;
std::vector<std::string> permute_words_rows() { return names_of(permute_words::kWorkgroups, permute_words::print_row); }

}  // namespace sectile::detail
