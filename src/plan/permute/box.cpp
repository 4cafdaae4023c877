// permute_box: stages boxes over up to three axes, whole or cut, that have long runs in both operands. It takes what
// permute_tile does not: short or odd inner axes, an axis that both runs share, blocks that do not divide their axis.
#include "box.hpp"

#include "permute/permute_box.abi.h"

#include <algorithm>

namespace sectile::detail {

namespace {

// NVIDIA H200, driver 580.159.04, `sectile bench --preset seeds-permute --all-candidates`: docs/lab/2026-11.md.
// clang-format off
constexpr BoxRow kTable[] = {
    {.run_s = 768, .run_d = 768, .workgroup = 128, .unroll = 4, .access = 16},
    {.run_s = 512, .run_d = 512, .workgroup = 128, .unroll = 4, .access = 16},
    {.run_s = 288, .run_d = 288, .workgroup = 128, .unroll = 4, .access = 16},
    {.run_s = 512, .run_d = 512, .workgroup = 128, .unroll = 4, .access = 4},
    {.run_s = 256, .run_d = 256, .workgroup = 128, .unroll = 4, .access = 4},
    {.run_s = 128, .run_d = 128, .workgroup = 128, .unroll = 4, .access = 4},
};
// clang-format on

// One size of workgroup memory for all boxes, so that they share pipelines. Small boxes were fastest on the H200: six
// axes f32 ran at 0.854 of a copy with 5 KiB in workgroups of 128, 0.815 with 10 KiB in 256 (0.733 if those reserved 16
// KiB, 0.626 with 24); 3 x 1048576 x 7 f16 at 0.730, 0.709 and 0.698.
constexpr std::uint32_t kSharedBytes = 6 * 1024;

struct Sides {
  const Nest& nest;
  std::array<std::int64_t, kMaxRank> size;  // elements in the box, per nest axis
  int boxed = 0;                            // axes with more than one element in the box

  // Returns false if the box already has kMaxBoxed axes.
  bool set(int a, std::int64_t elements) {
    auto& s = size[static_cast<std::size_t>(a)];
    if (s == 1 && elements > 1 && ++boxed > kMaxBoxed) {
      boxed = kMaxBoxed;
      return false;
    }
    s = std::max(s, elements);
    return true;
  }

  std::int64_t stride(int a, bool source) const {
    const auto& axis = nest.axis[static_cast<std::size_t>(a)];
    return source ? axis.src_stride : axis.dst_stride;
  }
};

// Cuts `extent` into pieces of about `wanted` elements: equal pieces that begin at multiples of an access.
std::int64_t cut(std::int64_t extent, std::int64_t wanted, std::uint32_t element_bytes) {
  const std::int64_t pieces = std::max<std::int64_t>(1, (extent + wanted / 2) / wanted);
  std::int64_t piece = (extent + pieces - 1) / pieces;
  for (const std::int64_t bytes : {32, 16, 4}) {
    const std::int64_t unit = std::max<std::int64_t>(1, bytes / element_bytes);
    if (piece < 2 * unit) continue;
    piece = (piece + unit - 1) / unit * unit;
    break;
  }
  return std::min(piece, extent);
}

// Extends the box along one operand until its run has `target` elements: takes whole axes, then a piece of the next.
void extend_side(Sides& s, const int* order, int n, bool source, std::int64_t target) {
  std::int64_t run = 1;
  for (int i = 0; i < n; ++i) {
    const auto a = static_cast<std::size_t>(order[i]);
    if (i > 0 && s.stride(order[i], source) != run * s.stride(order[0], source)) return;  // a gap ends the run
    const std::int64_t extent = s.nest.axis[a].extent;
    const std::int64_t need = (target + run - 1) / run;
    if (need <= 1) return;
    if (extent > need + need / 2) {
      s.set(order[i], cut(extent, need, s.nest.element_bytes));
      return;
    }
    if (!s.set(order[i], extent)) return;
    run *= extent;
  }
}

// The widest access along one operand such that each access is whole, aligned, and either inside all bounds or outside.
std::uint32_t choose_vector(const PermuteContext& c, const Box& box, Side side, std::uint32_t access) {
  const bool source = side == Side::src;
  const Nest& nest = c.nest;
  const auto bounds = source ? nest.read_bounds() : nest.write_bounds();
  for (const std::uint32_t bytes : {16u, 4u}) {
    const std::uint32_t v = bytes / nest.element_bytes;
    if (bytes > access || v < 2) continue;
    std::uint32_t along = 0;
    std::int64_t run = 1;
    bool ok = false;
    for (int place = 0; place < box.boxed; ++place) {
      const int b = source ? place : box.order[static_cast<std::size_t>(place)];
      const int a = box.axis[static_cast<std::size_t>(b)];
      if (nest.stride(side, a) != run) break;
      const auto& axis = nest.axis[static_cast<std::size_t>(a)];
      bool bounded = false;
      for (std::uint32_t i = 0; i < bounds; ++i) bounded = bounded || axis.coef[i] != 0;
      if (bounded) break;
      along |= 1u << a;
      const auto size = static_cast<std::int64_t>(box.size[static_cast<std::size_t>(b)]);
      // A store of the kernel spans at most two axes.
      if (!source && place == 2) break;
      if (run * size % v == 0) {
        ok = run * box.last[static_cast<std::size_t>(b)] % v == 0;
        break;
      }
      if (size != axis.extent) break;
      run *= size;
    }
    if (ok && nest.alignment(side, along) >= bytes) return v;
  }
  return 1;
}

std::uint32_t words_of(const PermuteContext& c, const Box& box) {
  const std::uint32_t e = c.nest.element_bytes;
  if (e >= 4) return box.elements * (e / 4);
  return box.load_vector * e >= 4 ? (box.elements * e + 3) / 4 : box.elements;
}

std::uint32_t padded(const Box& box, std::uint32_t w) { return w + (w >> box.padding_shift) * box.padding; }

// Chooses the padding with the fewest bank conflicts, and none if there are no conflicts.
std::uint64_t choose_padding(const PermuteContext& c, const BoxRow& row, Box& box) {
  const std::uint32_t words = words_of(c, box);
  std::uint64_t least = box_conflicts(c, row, box, false);
  Box best = box;
  best.shared_words = words;
  struct Padding {
    std::uint32_t shift, words;
  };
  constexpr Padding kPaddings[] = {{5, 1}, {6, 1}, {4, 1}, {5, 2}};
  for (const auto& p : kPaddings) {
    if (least == 0) break;
    Box tried = box;
    tried.padding_shift = p.shift;
    tried.padding = p.words;
    tried.shared_words = padded(tried, words - 1) + 1;
    if (tried.shared_words * 4 > std::min(c.limits.workgroup_memory, kSharedBytes)) continue;
    const auto conflicts = box_conflicts(c, row, tried, false);
    // A small improvement is not worth the padding.
    if (conflicts + conflicts / 8 >= least) continue;
    least = conflicts;
    best = tried;
  }
  box = best;
  return least;
}

}  // namespace

bool build_box(const PermuteContext& c, const BoxRow& row, Box& box, Refusal& refusal) {
  const Nest& nest = c.nest;
  Sides sides{nest, {}, 0};
  sides.size.fill(1);
  std::array<int, kMaxRank> by_source{}, by_destination{};
  int moving = 0;
  for (int a = 0; a < nest.rank; ++a) {
    by_destination[static_cast<std::size_t>(a)] = a;
    if (nest.axis[static_cast<std::size_t>(a)].src_stride != 0) by_source[static_cast<std::size_t>(moving++)] = a;
  }
  std::sort(by_source.begin(), by_source.begin() + moving,
            [&](int a, int b) { return std::pair(sides.stride(a, true), a) < std::pair(sides.stride(b, true), b); });
  const auto elements_of = [&](std::uint32_t bytes) { return std::max<std::int64_t>(1, bytes / nest.element_bytes); };
  extend_side(sides, by_source.data(), moving, true, elements_of(row.run_s));
  extend_side(sides, by_destination.data(), nest.rank, false, elements_of(row.run_d));

  std::int64_t elements = 1;
  for (int i = 0; i < moving; ++i) {
    const auto a = static_cast<std::size_t>(by_source[static_cast<std::size_t>(i)]);
    if (sides.size[a] == 1) continue;
    const auto b = static_cast<std::size_t>(box.boxed++);
    const std::int64_t count = (nest.axis[a].extent + sides.size[a] - 1) / sides.size[a];
    box.axis[b] = static_cast<int>(a);
    box.size[b] = static_cast<std::uint32_t>(sides.size[a]);
    box.count[b] = static_cast<std::uint32_t>(count);
    box.last[b] = static_cast<std::uint32_t>(nest.axis[a].extent - (count - 1) * sides.size[a]);
    elements *= sides.size[a];
    if (elements > (1 << 16)) return refusal.no("box of more than {} elements", 1 << 16);
  }
  if (box.boxed < 2) return refusal.no("the box would span fewer than two axes");
  box.elements = static_cast<std::uint32_t>(elements);
  int place = 0;
  for (int a = 0; a < nest.rank; ++a)
    for (int b = 0; b < box.boxed; ++b)
      if (box.axis[static_cast<std::size_t>(b)] == a) box.order[static_cast<std::size_t>(place++)] = b;
  if (box.boxed < kMaxBoxed) box.order[2] = 2;  // an axis of size 1, last in both orders
  box.load_vector = choose_vector(c, box, Side::src, row.access);
  // One width for both operands: mixed widths would need more pipelines and gain little.
  box.store_vector = choose_vector(c, box, Side::dst, box.load_vector * nest.element_bytes);
  box.load_vector = choose_vector(c, box, Side::src, box.store_vector * nest.element_bytes);
  box.shared_words = words_of(c, box);
  const auto most = std::min(c.limits.workgroup_memory, kSharedBytes);
  if (box.shared_words * 4 > most)
    return refusal.no("workgroup memory of {} bytes, at most {}", box.shared_words * 4, most);
  return true;
}

// As stage_access() and store_access() of permute_box do: tests/emulated/accesses_test.cpp compares.
std::uint64_t box_conflicts(const PermuteContext& c, const BoxRow& row, const Box& box, bool all) {
  Walk walk(c.profile);
  const std::uint32_t e = c.nest.element_bytes;
  const bool packed = e < 4 && box.load_vector * e >= 4;
  const std::uint32_t element_words = e >= 4 ? e / 4 : 1, per_word = packed ? 4 / e : 1;
  const auto place = [&](std::uint32_t element) { return element * element_words / per_word; };
  Request request;
  request.bytes = 4;
  const std::uint32_t load_words = std::max(1u, e >= 4 || packed ? box.load_vector * e / 4 : box.load_vector);
  const Sample loads{static_cast<std::uint32_t>(ceil_div(ceil_div(box.elements, box.load_vector), walk.lanes())), all};
  for (std::uint32_t i = 0; i < loads.size(); ++i) {
    for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
      const std::uint32_t element = (loads.at(i) * walk.lanes() + l) * box.load_vector;
      request.address[l] = element < box.elements ? std::int64_t{padded(box, place(element))} * 4 : Request::kInactive;
    }
    walk.shared(request, loads.times(i) * load_words);
  }
  const Sample stores{static_cast<std::uint32_t>(ceil_div(ceil_div(box.elements, box.store_vector), walk.lanes())),
                      all};
  std::array<std::uint32_t, kMaxBoxed> step{};
  for (int b = 0, s = 1; b < box.boxed; s *= static_cast<int>(box.size[static_cast<std::size_t>(b)]), ++b)
    step[static_cast<std::size_t>(b)] = static_cast<std::uint32_t>(s);
  const Sample parts{box.store_vector, all};
  for (std::uint32_t i = 0; i < stores.size(); ++i)
    for (std::uint32_t k = 0; k < parts.size(); ++k) {
      for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
        std::uint32_t o = (stores.at(i) * walk.lanes() + l) * box.store_vector + parts.at(k);
        request.address[l] = Request::kInactive;
        if (o >= box.elements) continue;
        std::uint32_t element = 0;
        for (int p = 0; p < box.boxed; ++p) {
          const auto b = static_cast<std::size_t>(box.order[static_cast<std::size_t>(p)]);
          element += o % box.size[b] * step[b];
          o /= box.size[b];
        }
        request.address[l] = std::int64_t{padded(box, place(element))} * 4;
      }
      walk.shared(request, stores.times(i) * parts.times(k) * element_words);
    }
  (void)row;
  return walk.count().bank_conflicts;
}

namespace permute_box {
namespace {

constexpr int kOwnWords = size_of<PermuteBoxWords>();
// The step's axes: the nest's, and three at least.
int step_axes(const PermuteContext& c) { return std::max(c.nest.rank, kMaxBoxed); }

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  const BoxRow& r = kTable[row];
  if (!fits_workgroup(c, r.workgroup, refusal)) return false;
  if (c.nest.element_bytes >= r.access * 2 && r.access < 16)
    return refusal.no("elements of {} bytes are wider than accesses of {}", c.nest.element_bytes, r.access);
  if (c.nest.rank > 0 && c.nest.src_innermost() == 0 && c.nest.element_bytes >= 4)
    return refusal.no("source and destination have the same innermost axis, of {}-byte elements", c.nest.element_bytes);
  // Counting a box's accesses is the most expensive part of planning, and permute_tile is as fast here.
  if (const int s = c.nest.src_innermost(); s > 0 && c.nest.read_bounds() + c.nest.write_bounds() == 0) {
    const std::int64_t side = 128 / c.nest.element_bytes;
    if (c.nest.axis[0].extent >= side && c.nest.axis[static_cast<std::size_t>(s)].extent >= side)
      return refusal.no("both innermost axes are long enough for permute_tile");
  }
  Box box;
  return has_offsets(c, takes_wide(c, step_axes(c), kOwnWords), refusal) && stores_elements(c, refusal) &&
         build_box(c, r, box, refusal);
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const BoxRow& r = kTable[row];
  Box box;
  Refusal ignored(false);
  build_box(c, r, box, ignored);
  PermuteConfig d;
  d.bank_conflicts = choose_padding(c, r, box);
  d.stem = "permute_box";
  d.element_bytes = c.nest.element_bytes;
  d.offset64 = takes_wide(c, step_axes(c), kOwnWords);
  d.least_axes = pushed_class(step_axes(c), kOwnWords, c.nest.checked_bounds());
  d.workgroup = r.workgroup;
  std::array<bool, kMaxRank> boxed{};
  d.groups = 1;
  const auto add = [&](int axis, std::uint32_t count) {
    boxed[static_cast<std::size_t>(axis)] = true;
    d.add_axis(c.nest.axis[static_cast<std::size_t>(axis)], count);
    d.groups *= count;
  };
  for (std::size_t b = 0; b < static_cast<std::size_t>(box.boxed); ++b) add(box.axis[b], box.count[b]);
  for (int a = 0; a < c.nest.rank; ++a)
    if (!boxed[static_cast<std::size_t>(a)])
      add(a, static_cast<std::uint32_t>(c.nest.axis[static_cast<std::size_t>(a)].extent));
  // The kernel has three boxed axes. With fewer, the third is the first of the other axes, with one index in the box.
  if (d.axes < kMaxBoxed) d.add_axis(NestAxis{}, 1);
  std::array<U16x2, kMaxBoxed> sizes;
  std::array<std::uint32_t, kMaxBoxed> multiplier{}, order{};
  for (std::size_t b = 0; b < kMaxBoxed; ++b) {
    sizes[b] = {.x = box.size[b], .y = box.last[b]};
    multiplier[b] = box.size[b] > 1 ? small_multiplier(box.size[b]) : 0;
    order[b] = static_cast<std::uint32_t>(box.order[b]);
  }
  d.set_own(PermuteBoxWords{
      .box_sizes = sizes,
      .box_multiplier = multiplier,
      .box_staging =
          U8x2U16{.x = box.padding_shift, .y = box.padding, .z = PERMUTE_BOX_ORDER(order[0], order[1], order[2])}});
  const std::uint32_t shared = std::min(c.limits.workgroup_memory, kSharedBytes) / 4;
  d.add_constant(PERMUTE_BOX_SPEC_LOAD_VECTOR, box.load_vector);
  d.add_constant(PERMUTE_BOX_SPEC_STORE_VECTOR, box.store_vector);
  d.add_constant(PERMUTE_BOX_SPEC_SHARED_WORDS, shared);
  d.add_constant(PERMUTE_BOX_SPEC_UNROLL, r.unroll);
  d.workgroup_memory_bytes = shared * 4;
  return d;
}

// The accesses of a box in the middle, or of the last one.
AccessCount count_box(const PermuteContext& c, const Box& box, bool edge, bool all) {
  Walk walk(c.profile);
  const std::int64_t e = c.nest.element_bytes;
  std::int64_t src = c.nest.src_byte_offset, dst = c.nest.dst_byte_offset;
  std::array<std::uint32_t, kMaxBoxed> inside = box.size;
  for (std::size_t b = 0; b < static_cast<std::size_t>(box.boxed); ++b) {
    const auto& axis = c.nest.axis[static_cast<std::size_t>(box.axis[b])];
    const std::int64_t start = std::int64_t{edge ? box.count[b] - 1 : (box.count[b] - 1) / 2} * box.size[b];
    if (edge || box.count[b] == 1) inside[b] = box.last[b];
    src += start * axis.src_stride * e;
    dst += start * axis.dst_stride * e;
  }
  Request request;
  for (const bool source : {true, false}) {
    const std::uint32_t v = source ? box.load_vector : box.store_vector;
    request.bytes = v * c.nest.element_bytes;
    const Sample parts{static_cast<std::uint32_t>(ceil_div(ceil_div(box.elements, v), walk.lanes())), all};
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
      for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
        std::uint32_t o = (parts.at(i) * walk.lanes() + l) * v;
        request.address[l] = Request::kInactive;
        if (o >= box.elements) continue;
        std::int64_t at = source ? src : dst;
        bool within = true;
        for (int p = 0; p < box.boxed; ++p) {
          const auto b = static_cast<std::size_t>(source ? p : box.order[static_cast<std::size_t>(p)]);
          const auto& axis = c.nest.axis[static_cast<std::size_t>(box.axis[b])];
          const std::uint32_t digit = o % box.size[b];
          o /= box.size[b];
          within = within && digit < inside[b];
          at += digit * (source ? axis.src_stride : axis.dst_stride) * e;
        }
        if (within) request.address[l] = at;
      }
      if (source)
        walk.load(request, parts.times(i));
      else
        walk.store(request, parts.times(i));
    }
  }
  return walk.count();
}

PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const BoxRow& r = kTable[row];
  Box box;
  Refusal ignored(false);
  build_box(c, r, box, ignored);
  const U8x2U16 staging = PermuteBoxWordsReader{{}, d.own.all()}.box_staging();
  box.padding_shift = staging.x;
  box.padding = staging.y;
  PermuteEstimate e;
  e.groups = d.groups;
  e.interior = count_box(c, box, false, c.explain);
  e.interior.bank_conflicts = c.explain ? box_conflicts(c, r, box, true) : d.bank_conflicts;
  if (c.explain) {
    e.edge = count_box(c, box, true, true);
    e.edge.bank_conflicts = e.interior.bank_conflicts;
  }
  // Fitted to the H200's times of boxes of 1000 to 7400 elements: a fixed part per subgroup, and a part per request.
  e.instructions = ceil_div(r.workgroup, 32) * 450 + e.interior.load_requests * 60 +
                   e.interior.store_requests * (40 + (c.nest.element_bytes < 4 ? 16 : 10) * box.store_vector);
  e.addressing = c.nest.element_bytes == 1 ? Addressing::box_bytes : Addressing::box;
  return e;
}

// Three sizes are enough on a GPU, and share pipelines with fewer steps. H200, 2026-11-28, 1,829 problems whose
// candidates were all timed (`calibrate --op permute`): with these alone the choices are worth 1.029 in place of 1.024
// for f64 on Vulkan, and no less for other sizes of elements. With bounds few kernels serve, and all rows compete. What
// has less than 2 MiB takes 1.01 (Vulkan) to 1.05 (CUDA) times as long without boxes, which would be pipelines for a
// microsecond or two; 1209x9 of f32 is faster by permute_rows (0.23 of a copy for 0.19 on Vulkan, 0.79 for 0.75).
Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  const BoxRow& r = kTable[row];
  if (c.cpu() || c.nest.read_bounds() + c.nest.write_bounds() != 0) return Eligibility::candidate;
  return last_resort_if(c.below_mib(2) || (r.run_s != 768 && r.run_s != 288 && r.run_s != 128));
}

std::string print_row(const BoxRow& r) {
  return fmt::format("{}x{} a{} u{} wg{}", r.run_s, r.run_d, r.access, r.unroll, r.workgroup);
}
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr NamedConstant kNamed[] = {{PERMUTE_BOX_SPEC_LOAD_VECTOR, "vector"},
                                    {PERMUTE_BOX_SPEC_STORE_VECTOR, "vector"}};

constexpr PermuteStrategy kStrategy = {
    "permute_box", CostTable::permute_box, std::size(kTable), applicable, make, estimate, eligibility, print, kNamed};

}  // namespace
}  // namespace permute_box

const PermuteStrategy kBox = permute_box::kStrategy;
std::vector<std::string> permute_box_rows() { return names_of(kTable, permute_box::print_row); }

}  // namespace sectile::detail
