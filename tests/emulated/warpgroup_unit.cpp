// Requested workgroup memory, its barriers, and the copies of boxes and the products that read and write it beside the
// invocations.
#include "warpgroup_unit.hpp"

#include "machine.hpp"

#include "gemm/matmul_wgmma.abi.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

namespace sectile::emulated {
namespace {

constexpr unsigned kPoison = 0xDB, kBarrierBytes = 8;

std::vector<unsigned char>& memory_of(Workgroup& group, bool copied) {
  if (group.memory.empty())
    group.memory = group.copied =
        std::vector<unsigned char>(machine.step->workgroup_memory_bytes, static_cast<unsigned char>(kPoison));
  return copied ? group.copied : group.memory;
}

// A place in it; where there is none, some bytes that nothing reads.
unsigned char* place(Workgroup& group, unsigned address, unsigned bytes, bool copied) {
  static std::array<unsigned char, 16> nowhere;
  auto& memory = memory_of(group, copied);
  if (address < kRequestedMemory || address - kRequestedMemory + bytes > memory.size()) {
    machine.fail(fmt::format("workgroup memory is overrun: {} bytes at {} of {}", bytes,
                             std::int64_t{address} - kRequestedMemory, memory.size()));
    return nowhere.data();
  }
  if (address % bytes != 0) machine.fail("an access to workgroup memory is misaligned");
  return memory.data() + (address - kRequestedMemory);
}

// What a copy or a store leaves to those who may not read it yet.
void make_unreadable(Workgroup& group, unsigned address, unsigned bytes, bool copied) {
  std::memset(place(group, address, bytes, copied), kPoison, bytes);
}
void store_both(Workgroup& group, unsigned address, const void* data, unsigned bytes) {
  std::memcpy(place(group, address, bytes, false), data, bytes);
  std::memcpy(place(group, address, bytes, true), data, bytes);
}

void wake(std::vector<Fiber*>& waiting) {
  machine.ready.insert(machine.ready.end(), waiting.begin(), waiting.end());
  waiting.clear();
}

Workgroup& workgroup_at(unsigned rank) {
  if (rank >= machine.cluster.size()) {
    machine.fail("a cluster has no such workgroup");
    return machine.group();
  }
  Workgroup& group = machine.cluster[rank];
  if (group.finished == machine.size()) machine.fail("the memory of a workgroup that has ended is used");
  return group;
}

PhaseBarrier& barrier_at(Workgroup& group, unsigned address, bool published) {
  PhaseBarrier& barrier = group.barriers[address];
  if (barrier.arrivals == 0) machine.fail("an mbarrier is used that was not made");
  if (published && !barrier.published) machine.fail("an mbarrier is used by others that was not published");
  return barrier;
}

// Another workgroup's barrier may be used when the cluster has met after it was made.
void check_met(unsigned rank, unsigned barrier) {
  if (rank != machine.running->rank && rank < machine.cluster.size() && !machine.cluster[rank].barriers[barrier].met)
    machine.fail("a barrier of another workgroup is used before the cluster has met");
}

void end_phase_if_complete(PhaseBarrier& barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.missing = barrier.arrivals;
  wake(barrier.waiting);
}
void arrive_once(PhaseBarrier& barrier) {
  if (barrier.missing == 0) return machine.fail("an mbarrier has more arrivals than it was made with");
  --barrier.missing;
  end_phase_if_complete(barrier);
}

// Comes to a barrier that so many complete. True: this one did.
bool come(CountedBarrier& barrier, unsigned invocations) {
  if (barrier.arrived != 0 && barrier.invocations != invocations) machine.fail("a barrier of different counts");
  barrier.invocations = invocations;
  if (++barrier.arrived < invocations) return false;
  barrier.arrived = 0;
  wake(barrier.waiting);
  return true;
}

}  // namespace

void refuse(const char* what) { machine.fail(what); }

unsigned requested_memory() {
  memory_of(machine.group(), false);
  return kRequestedMemory;
}

void store_requested(unsigned address, const void* data, unsigned bytes) {
  Workgroup& group = machine.group();
  if (const auto next = group.barriers.lower_bound(address + 1 < kBarrierBytes ? 0 : address + 1 - kBarrierBytes);
      next != group.barriers.end() && next->first < address + bytes)
    machine.fail("a store over an mbarrier");
  std::memcpy(place(group, address, bytes, false), data, bytes);
  make_unreadable(group, address, bytes, true);
  machine.running->unpublished.emplace_back(address, bytes);
}
void note_copy(unsigned to, const std::array<unsigned char, 16>& data, unsigned bytes) {
  Fiber& self = *machine.running;
  for (const bool copied : {false, true}) make_unreadable(machine.group(), to, bytes, copied);
  self.copies.push_back({nullptr, data, bytes, self.copy_groups, to});
}
void load_requested(unsigned address, void* data, unsigned bytes) {
  std::memcpy(data, place(machine.group(), address, bytes, false), bytes);
}
void publish_to_copies() {
  Workgroup& group = machine.group();
  for (const auto& [address, bytes] : machine.running->unpublished)
    std::memcpy(place(group, address, bytes, true), place(group, address, bytes, false), bytes);
  machine.running->unpublished.clear();
}

// ---- barriers

void make_barrier(unsigned barrier, unsigned arrivals) {
  Workgroup& group = machine.group();
  place(group, barrier, kBarrierBytes, false);
  if (group.barriers.contains(barrier) || arrivals == 0) machine.fail("an mbarrier is made twice, or with no arrivals");
  group.barriers[barrier] = {.arrivals = arrivals, .missing = arrivals, .waiting = {}};
}
void publish_barriers() {
  for (auto& [address, barrier] : machine.group().barriers) barrier.published = true;
}
void arrive_expecting(unsigned barrier, unsigned bytes) {
  PhaseBarrier& b = barrier_at(machine.group(), barrier, false);
  b.bytes += bytes;
  arrive_once(b);
}
void arrive(unsigned barrier) { arrive_once(barrier_at(machine.group(), barrier, false)); }
void arrive_at(unsigned barrier, unsigned rank) {
  check_met(rank, barrier);
  arrive_once(barrier_at(workgroup_at(rank), barrier, true));
}
void await_phase(unsigned barrier, unsigned parity) {
  for (PhaseBarrier& b = barrier_at(machine.group(), barrier, false); b.phase % 2 == parity;) {
    b.waiting.push_back(machine.running);
    switch_to_scheduler();
  }
}
void come_to_barrier(unsigned number, unsigned invocations) { come(machine.group().named[number], invocations); }
void named_barrier(unsigned number, unsigned invocations) {
  CountedBarrier& barrier = machine.group().named[number];
  if (come(barrier, invocations)) return;
  barrier.waiting.push_back(machine.running);
  switch_to_scheduler();
}

// ---- registers

void trade_registers(unsigned count, bool takes) {
  if (count == 0) return;
  if (count % 8 != 0 || count < 24 || count > 256) return refuse("no number of registers to trade");
  // What __launch_bounds__ leaves an invocation where so many workgroups share a multiprocessor's 65536.
  unsigned resident = 1;
  for (const Constant& constant : machine.step->constants)
    if (constant.id == MATMUL_WGMMA_SPEC_RESIDENT) resident = constant.value;
  const unsigned each = 65536 / (machine.size() * resident) / 8 * 8, groups = machine.size() / kWarpgroupLanes;
  if (takes ? count < each : count > each) return refuse("registers are traded in the wrong direction");
  auto& registers = machine.group().registers;
  registers[machine.running->invocation / kWarpgroupLanes] = count;
  unsigned all = 0;
  for (const auto& [group, own] : registers) all += own;
  if (registers.size() == groups && all > groups * each) refuse("more registers are taken than given up");
}

// ---- clusters

unsigned cluster_rank() { return machine.running->rank; }
void meet_cluster() {
  if (come(machine.cluster_barrier, machine.invocations())) {
    for (Workgroup& group : machine.cluster)
      for (auto& [address, barrier] : group.barriers) barrier.met = barrier.published;
    return;
  }
  machine.cluster_barrier.waiting.push_back(machine.running);
  switch_to_scheduler();
}
void send_words(unsigned address, unsigned rank, unsigned barrier, std::array<unsigned, 4> words) {
  check_met(rank, barrier);
  for (const bool copied : {false, true}) make_unreadable(workgroup_at(rank), address, sizeof words, copied);
  machine.sent.push_back({words, address, rank, barrier});
  if (machine.at_once) land_sent();
}
void land_sent() {
  for (const SentWords& sent : machine.sent) {
    Workgroup& group = workgroup_at(sent.rank);
    std::memcpy(place(group, sent.address, sizeof sent.words, false), sent.words.data(), sizeof sent.words);
    PhaseBarrier& barrier = barrier_at(group, sent.barrier, true);
    barrier.bytes -= sizeof sent.words;
    end_phase_if_complete(barrier);
  }
  machine.sent.clear();
}

// ---- copies of boxes

namespace {

// Elements of a row of a box, zeros where it lies outside the tensor.
void read_row(const TensorMap& map, const std::array<int, 5>& first, std::int64_t outer, std::int64_t batch,
              unsigned char* row) {
  const sectile::TensorMap& m = *map.map;
  std::memset(row, 0, std::size_t{m.box[0]} * m.element_bytes);
  const auto size = [&](std::size_t i) { return static_cast<std::int64_t>(m.dims[i]); };
  if (outer < 0 || outer >= size(1) || batch < 0 || batch >= size(2)) return;
  const std::int64_t begin = std::max(first[0], 0),
                     end = std::min<std::int64_t>(std::int64_t{first[0]} + m.box[0], size(0));
  if (begin >= end) return;
  const auto* from = reinterpret_cast<const unsigned char*>(map.first) + begin * m.element_bytes +
                     outer * static_cast<std::int64_t>(m.strides[0]) + batch * static_cast<std::int64_t>(m.strides[1]);
  const auto at = reinterpret_cast<std::uintptr_t>(from);
  const auto bytes = static_cast<std::uint64_t>((end - begin) * m.element_bytes);
  if (std::ranges::none_of(machine.ranges, [&](const Range& range) {
        return !range.write && at >= range.begin && at + bytes <= range.end;
      }))
    return machine.fail("a copy of a box reads outside the step's ranges");
  std::memcpy(row + (begin - first[0]) * m.element_bytes, from, bytes);
}

void land(const BoxCopy& copy) {
  const sectile::TensorMap& m = *copy.map->map;
  const unsigned line = m.box[0] * m.element_bytes;
  std::vector<unsigned char> row(line);
  unsigned at = copy.to;
  for (unsigned b = 0; b < m.box[2]; ++b)
    for (unsigned r = 0; r < m.box[1]; ++r, at += line) {
      read_row(*copy.map, copy.first, std::int64_t{copy.first[1]} + r, std::int64_t{copy.first[2]} + b, row.data());
      for (unsigned rank = 0; rank < machine.cluster.size(); ++rank)
        for (unsigned chunk = 0; chunk < line && (copy.ranks >> rank & 1u) != 0; chunk += 16)
          store_both(machine.cluster[rank], swizzled(at + chunk, m.swizzle_bytes), row.data() + chunk, 16);
    }
  for (unsigned rank = 0; rank < machine.cluster.size(); ++rank) {
    if ((copy.ranks >> rank & 1u) == 0) continue;
    PhaseBarrier& barrier = barrier_at(workgroup_at(rank), copy.barrier, true);
    barrier.bytes -= std::int64_t{at} - copy.to;
    end_phase_if_complete(barrier);
  }
}

}  // namespace

void copy_box(unsigned rank, unsigned to, const TensorMap& map, const int (&c)[5], unsigned barrier, unsigned ranks) {
  const sectile::TensorMap& m = *map.map;
  if (rank != 3 || m.box.size() != 3 || m.dims.size() != 3 || m.strides.size() != 2 || m.im2col ||
      !m.element_strides.empty() || m.fill != TensorFill::zeros || m.box[0] * m.element_bytes != m.swizzle_bytes)
    return machine.fail("a tensor map of this form is not emulated");
  const std::uint64_t aligned = reinterpret_cast<std::uintptr_t>(map.first) | m.strides[0] | m.strides[1];
  if (aligned % 16 != 0) return machine.fail("a tensor map of what is not aligned to 16 bytes");
  if (std::int64_t{c[0]} * m.element_bytes % 16 != 0) machine.fail("a box does not begin at a multiple of 16 bytes");
  if (to % 128 != 0) machine.fail("a box's place is misaligned");
  if (ranks == 0 || ranks >> machine.cluster.size() != 0) return machine.fail("a cluster has no such workgroup");
  for (unsigned other = 0; other < machine.cluster.size(); ++other)
    if ((ranks >> other & 1u) != 0) check_met(other, barrier);
  BoxCopy copy{.map = &map, .to = to, .barrier = barrier, .ranks = ranks};
  std::ranges::copy(c, copy.first.begin());
  for (unsigned at = to, end = to + m.box[0] * m.box[1] * m.box[2] * m.element_bytes; at < end; at += 16)
    for (unsigned to_rank = 0; to_rank < machine.cluster.size(); ++to_rank)
      for (const bool copied : {false, true})
        if ((ranks >> to_rank & 1u) != 0) make_unreadable(machine.cluster[to_rank], at, 16, copied);
  if (machine.at_once)
    land(copy);
  else
    machine.copies.push_back(copy);
}

bool land_copy() {
  if (machine.copies.empty()) {
    const bool landed = !machine.sent.empty();
    land_sent();
    return landed;
  }
  const BoxCopy copy = machine.copies.back();
  machine.copies.pop_back();
  land(copy);
  return true;
}

// ---- products

namespace {

constexpr unsigned kRows = 64, kBytesK = 32, kMostColumns = 256;

// An operand's place in workgroup memory, as lib/wgmma.cuh writes it.
struct Layout {
  unsigned address, line, block, group;  // group: from 8 lines to the next
  explicit Layout(std::uint64_t bits)
      : address(static_cast<unsigned>(bits & 0x3fff) << 4),
        line(256u >> std::clamp<unsigned>(static_cast<unsigned>(bits >> 62), 1, 3)),
        block(static_cast<unsigned>(bits >> 16 & 0x3fff) << 4),
        group(static_cast<unsigned>(bits >> 32 & 0x3fff) << 4) {
    if (bits >> 62 == 0) machine.fail("products of operands that are not swizzled are not emulated");
  }
};

const float* halves() {
  static const std::vector<float> table = [] {
    std::vector<float> values(65536);
    for (unsigned i = 0; i < values.size(); ++i) values[i] = half_to_float(i);
    return values;
  }();
  return table.data();
}

// Element `i` of 16 bytes.
template <class Value>
Value element_of(const unsigned char* chunk, unsigned i, unsigned type) {
  if constexpr (std::is_same_v<Value, std::uint32_t>) {
    return static_cast<std::uint32_t>(static_cast<std::int8_t>(chunk[i]));
  } else {
    std::uint16_t bits = 0;
    std::memcpy(&bits, chunk + std::size_t{2} * i, sizeof bits);
    return type == SECTILE_TYPE_BF16 ? __uint_as_float(std::uint32_t{bits} << 16) : halves()[bits];
  }
}

// values[row * k_step + k * row_step]: of `rows` rows 32 bytes along K.
template <class Value>
void read_operand(Workgroup& group, std::uint64_t bits, bool across, unsigned type, unsigned rows, Value* values,
                  unsigned row_step, unsigned k_step) {
  const Layout layout(bits);
  constexpr unsigned element = std::is_same_v<Value, std::uint32_t> ? 1 : 2, run = 16 / element,
                     k_count = kBytesK / element;
  if (across && element == 1) return machine.fail("products take int8 along K only");
  const auto chunk_at = [&](unsigned byte, unsigned number) {  // of a line
    return place(group,
                 swizzled(layout.address + number / 8 * layout.group + number % 8 * layout.line + byte, layout.line),
                 16, true);
  };
  if (across) {
    for (unsigned k = 0; k < k_count; ++k)
      for (unsigned row = 0; row < rows; row += run) {
        const unsigned byte = row * element;
        const unsigned char* const chunk = chunk_at(byte / layout.line * layout.block + byte % layout.line, k);
        for (unsigned i = 0; i < run; ++i)
          values[(row + i) * row_step + k * k_step] = element_of<Value>(chunk, i, type);
      }
  } else {
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned k = 0; k < k_count; k += run) {
        const unsigned char* const chunk = chunk_at(k * element, row);
        for (unsigned i = 0; i < run; ++i)
          values[row * row_step + (k + i) * k_step] = element_of<Value>(chunk, i, type);
      }
  }
}

// The same of A, from the lanes' registers: of each product rows g and g + 8 of a warp's 16, and k from 2 * t on, two
// in a word; then those 8 further on.
void read_words(const WarpgroupProducts& products, float* values) {
  for (unsigned lane = 0; lane < kWarpgroupLanes; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned row = lane / 32 * 16 + i % 2 * 8 + lane % 32 / 4, k = i / 2 * 8 + lane % 4 * 2 + half;
        const unsigned bits = products.words[lane][i] >> (16 * half) & 0xffffu;
        values[row * kBytesK / 2 + k] =
            products.shape.type == SECTILE_TYPE_BF16 ? __uint_as_float(bits << 16) : halves()[bits];
      }
}

template <class Value>
[[gnu::no_sanitize("undefined")]] void multiply(Value* sums, const Value* a, const Value* b, unsigned columns,
                                                unsigned k_count) {
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned k = 0; k < k_count; ++k) {
      const Value factor = a[row * k_count + k];
      Value* const to = sums + row * columns;
      const Value* const from = b + k * columns;
      for (unsigned column = 0; column < columns; ++column) to[column] += factor * from[column];
    }
}

// Calls visit(row, column, the lane's sum of it), of all lanes.
template <class Value, class Visit>
void visit_sums(const WarpgroupProducts& products, Visit visit) {
  for (unsigned lane = 0; lane < kWarpgroupLanes; ++lane) {
    auto* const sums = static_cast<Value*>(products.sums[lane]);
    for (unsigned i = 0; i < products.shape.columns / 2; ++i)
      visit(lane / 32 * 16 + i / 2 % 2 * 8 + lane % 32 / 4, i / 4 * 8 + lane % 4 * 2 + i % 2, sums[i]);
  }
}

// Products whose sums are the same, in their order.
template <class Value>
void carry_out(Workgroup& group, std::span<const WarpgroupProducts* const> all) {
  static std::vector<Value> sums(kRows * kMostColumns), a(kRows * kBytesK), b(kMostColumns * kBytesK);
  const ProductShape& shape = all[0]->shape;
  const unsigned columns = shape.columns, k_count = std::is_same_v<Value, std::uint32_t> ? kBytesK : kBytesK / 2;
  visit_sums<Value>(*all[0], [&](unsigned row, unsigned column, Value& sum) { sums[row * columns + column] = sum; });
  for (const WarpgroupProducts* products : all) {
    if constexpr (std::is_same_v<Value, float>)
      if (shape.words_a) read_words(*products, a.data());
    if (!shape.words_a) read_operand(group, products->a, shape.across_a, shape.type, kRows, a.data(), k_count, 1);
    read_operand(group, products->b, shape.across_b, shape.type, columns, b.data(), 1, columns);
    multiply(sums.data(), a.data(), b.data(), columns, k_count);
  }
  visit_sums<Value>(*all[0], [&](unsigned row, unsigned column, Value& sum) { sum = sums[row * columns + column]; });
}

// The groups of products before the number.
void carry_out_before(Workgroup& group, Warpgroup& warpgroup, unsigned number) {
  const auto end = std::ranges::find_if(warpgroup.products, [&](const auto& p) { return p.group >= number; });
  std::vector<std::vector<const WarpgroupProducts*>> by_sums;
  for (auto p = warpgroup.products.begin(); p != end; ++p) {
    if (p->lanes != kWarpgroupLanes) machine.fail("products that not all lanes of a warpgroup began");
    auto same = std::ranges::find_if(by_sums, [&](const auto& list) { return list[0]->sums == p->sums; });
    if (same == by_sums.end()) same = by_sums.insert(same, std::vector<const WarpgroupProducts*>());
    if (!same->empty() && (*same)[0]->shape != p->shape) machine.fail("products of different shapes in the same sums");
    same->push_back(&*p);
  }
  if (!machine.failure.empty()) return;
  for (const auto& list : by_sums) {
    if (list[0]->shape.type == SECTILE_TYPE_I8)
      carry_out<std::uint32_t>(group, list);
    else
      carry_out<float>(group, list);
  }
  warpgroup.finished += static_cast<unsigned>(end - warpgroup.products.begin());
  warpgroup.products.erase(warpgroup.products.begin(), end);
}

Warpgroup& own_warpgroup() { return machine.group().warpgroups[machine.running->invocation / kWarpgroupLanes]; }

}  // namespace

void begin_products() { machine.running->ordered = true; }
void commit_products() { ++machine.running->product_groups; }

void add_products(const ProductShape& shape, void* sums, std::uint64_t a, std::uint64_t b, const unsigned* words) {
  Fiber& self = *machine.running;
  Warpgroup& warpgroup = own_warpgroup();
  if (!self.ordered) machine.fail("products without an order behind earlier accesses to their sums");
  const std::size_t index = self.products++ - warpgroup.finished;
  if (index == warpgroup.products.size())
    warpgroup.products.push_back({.shape = shape, .a = a, .b = b, .group = self.product_groups});
  if (index >= warpgroup.products.size()) return machine.fail("products that other lanes have not begun are finished");
  WarpgroupProducts& products = warpgroup.products[index];
  if (products.shape != shape || products.a != a || products.b != b || products.group != self.product_groups)
    machine.fail("the lanes of a warpgroup began different products");
  products.sums[self.invocation % kWarpgroupLanes] = sums;
  products.words[self.invocation % kWarpgroupLanes] = words;
  ++products.lanes;
}

void await_products(unsigned pending) {
  Fiber& self = *machine.running;
  Warpgroup& warpgroup = own_warpgroup();
  warpgroup.waiting.push_back(&self);
  if (warpgroup.waiting.size() < kWarpgroupLanes) {
    switch_to_scheduler();
  } else {
    std::erase(warpgroup.waiting, &self);
    wake(warpgroup.waiting);
    if (self.product_groups > pending) carry_out_before(machine.group(), warpgroup, self.product_groups - pending);
  }
  self.ordered = false;
}

}  // namespace sectile::emulated
