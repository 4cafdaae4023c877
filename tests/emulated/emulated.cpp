// A workgroup's invocations as fibers, a cluster's together: each runs until it ends or waits for others. Every
// other workgroup runs its invocations from the last to the first, so that what one may only read before (or behind)
// another's write is found either way.
#include "emulated.hpp"

#include "machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define SECTILE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SECTILE_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef SECTILE_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace sectile::emulated {

// Both directions of a switch tell the address sanitizer which stack comes next.
void switch_to_scheduler() {
  Fiber& fiber = *machine.running;
  const std::uint64_t here = iterations;
#ifdef SECTILE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&fiber.fake_stack, machine.scheduler_stack, machine.scheduler_stack_bytes);
#endif
  swapcontext(&fiber.context, &machine.scheduler);
#ifdef SECTILE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &machine.scheduler_stack, &machine.scheduler_stack_bytes);
#endif
  iterations = here;
}

namespace {

void resume(Fiber& fiber) {
  machine.running = &fiber;
  threadIdx = {fiber.invocation, 0, 0};
  blockIdx = machine.cluster[fiber.rank].block;
#ifdef SECTILE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&machine.scheduler_fake_stack, fiber.stack.get(), Fiber::kStack);
#endif
  swapcontext(&machine.scheduler, &fiber.context);
#ifdef SECTILE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(machine.scheduler_fake_stack, nullptr, nullptr);
#endif
}

struct ReachedLastBarrier {};

// A fiber takes invocation after invocation as long as none waits at a barrier, then rests for the next workgroup.
void fiber_main() {
#ifdef SECTILE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &machine.scheduler_stack, &machine.scheduler_stack_bytes);
#endif
  for (;;) {
    Fiber* const self = machine.running;
    while (machine.next < machine.invocations()) {
      const unsigned number = machine.backwards ? machine.invocations() - 1 - machine.next : machine.next;
      self->rank = number / machine.size();
      self->invocation = number % machine.size();
      self->exchanges = self->barriers = self->copy_groups = self->products = self->product_groups = 0;
      self->copies.clear();
      self->unpublished.clear();
      ++machine.next;
      threadIdx = {self->invocation, 0, 0};
      blockIdx = machine.group().block;
      iterations = 0;
      try {
        machine.kernel->invoke(machine.push, machine.maps);
        // NOLINTNEXTLINE(bugprone-empty-catch)
      } catch (const ReachedLastBarrier&) {  // each invocation ends here: later accesses are not traced
      }
      ++machine.group().finished;
    }
    machine.idle.push_back(self);
    switch_to_scheduler();
  }
}

Fiber& idle_fiber() {
  if (machine.idle.empty()) {
    auto fiber = std::make_unique<Fiber>();
    fiber->stack = std::make_unique_for_overwrite<std::byte[]>(Fiber::kStack);
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack.get();
    fiber->context.uc_stack.ss_size = Fiber::kStack;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, fiber_main, 0);
    machine.idle.push_back(fiber.get());
    machine.fibers.push_back(std::move(fiber));
  }
  Fiber& fiber = *machine.idle.back();
  machine.idle.pop_back();
  return fiber;
}

void release(std::vector<Fiber*>& waiting) {
  auto released = std::exchange(waiting, {});
  std::ranges::sort(released, {}, [](const Fiber* f) { return std::pair(f->rank, f->invocation); });
  if (machine.backwards) std::ranges::reverse(released);
  for (Fiber* fiber : released) resume(*fiber);
}

// Whole warps go on, one after another as far as each comes, until none waits: what only a barrier keeps in order then
// comes out of order. False: none waited.
bool finish_exchanges() {
  bool any = false;
  for (Workgroup& group : machine.cluster) {
    const std::size_t warps = group.warps.size();
    for (std::size_t i = 0; i < warps; ++i) {
      Warp& warp = group.warps[machine.backwards ? warps - 1 - i : i];
      for (; warp.waiting.size() == kWarp; any = true) release(warp.waiting);
    }
  }
  return any;
}

// A barrier that all invocations of a workgroup have reached, but for those that ended before it.
bool pass_barrier() {
  for (Workgroup& group : machine.cluster) {
    if (group.waiting.empty() || group.waiting.size() + group.finished < machine.size()) continue;
    if (group.finished != 0)
      machine.fail(fmt::format("{} of {} invocations ended before a barrier that others reached", group.finished,
                               machine.size()));
    release(group.waiting);
    return true;
  }
  return false;
}

// Nothing goes on: what waits, waits for something that does not come. Exchanges and waits for phases stay where they
// are, for ever: other workgroups have fibers of their own. Those at a barrier go on, so that they end.
bool give_up() {
  for (const Workgroup& group : machine.cluster)
    for (const auto& [address, barrier] : group.barriers)
      if (!barrier.waiting.empty())
        machine.fail(fmt::format("{} invocations wait for a phase that does not come", barrier.waiting.size()));
  for (Workgroup& group : machine.cluster)
    for (Warp& warp : group.warps) {
      if (warp.waiting.empty()) continue;
      machine.fail(fmt::format("{} lanes of a warp exchange values, and the others do not", warp.waiting.size()));
      warp.waiting.clear();
    }
  for (Workgroup& group : machine.cluster) {
    if (group.waiting.empty()) continue;
    machine.fail(fmt::format("{} of {} invocations reached a barrier, and the others do not", group.waiting.size(),
                             machine.size()));
    release(group.waiting);
    return true;
  }
  for (const Workgroup& group : machine.cluster)
    if (group.finished < machine.size())
      machine.fail(fmt::format("{} of {} invocations wait for ever", machine.size() - group.finished, machine.size()));
  return false;
}

// The workgroups of a cluster, which run together. `first`: the place of the first of them in the grid.
void run_cluster(Kernel& kernel, uint3 first) {
  for (SharedArray* array : kernel.shared()) array->poison();
  const unsigned together = machine.step->cluster[0], number = first.x / together + first.y + first.z;
  machine.backwards = (number + machine.order) % 2 != 0;
  machine.at_once = (number + machine.order) / 2 % 2 != 0;
  machine.next = 0;
  machine.cluster.assign(together, {});
  machine.cluster_barrier = {};
  machine.copies.clear();
  machine.sent.clear();
  for (unsigned rank = 0; rank < together; ++rank) {
    Workgroup& group = machine.cluster[rank];
    group.block = {first.x + rank, first.y, first.z};
    group.warps.assign((machine.size() + kWarp - 1) / kWarp, {});
    group.warpgroups.assign((machine.size() + kWarpgroupLanes - 1) / kWarpgroupLanes, {});
  }
  while (machine.next < machine.invocations()) resume(idle_fiber());
  for (;;) {
    if (finish_exchanges()) continue;
    if (!machine.ready.empty())
      release(machine.ready);
    else if (!pass_barrier() && !land_copy() && !give_up())
      break;
  }
  for (const SharedArray* array : kernel.shared())
    if (!array->guards_stand()) machine.fail("workgroup memory is overrun");
}

// permute_words reads and writes whole words, whose other bytes it leaves as they are. A matmul whose C is D reads D.
std::vector<Range> ranges_of(const Step& step, std::span<const Operand> operands) {
  std::vector<Range> ranges;
  const bool matmul = !step.kernel.stem.starts_with("permute");
  const bool reads_d = matmul && std::ranges::any_of(step.constants, [](const Constant& c) {
                         return c.id == GEMM_SPEC_EPILOGUE && (c.value & GEMM_EPILOGUE_C_IS_D) != 0;
                       });
  for (const AccessRange& access : step.accesses) {
    const auto base = reinterpret_cast<std::uintptr_t>(operands[access.operand].address);
    Range range{base + access.begin, base + access.end, access.write};
    if (step.kernel.stem == "permute_words") range = {range.begin & ~3ull, (range.end + 3) & ~3ull, range.write};
    ranges.push_back(range);
    if (range.write && reads_d) ranges.push_back({range.begin, range.end, false});
  }
  return ranges;
}

void record(Access::Kind kind, const void* address, std::uint64_t bytes, const Where& where) {
  const Fiber& fiber = *machine.running;
  const std::uint64_t position =
      std::uint64_t{fiber.barriers} << 40 ^ std::uint64_t{where.line()} << 16 ^ where.column();
  const std::uint64_t file = std::hash<std::string_view>()(where.file_name());
  machine.accesses.push_back({kind, static_cast<std::uint32_t>(bytes), fiber.invocation, fiber.barriers,
                              iterations ^ (position + 1) * 0x9e3779b97f4a7c15ull ^ file,
                              reinterpret_cast<std::uintptr_t>(address)});
}

// The kernel of a step with its operands' addresses, ready for run_cluster().
struct Prepared {
  std::unique_ptr<Kernel> kernel;
  std::vector<std::uint8_t> push;

  Prepared(const KernelRow& row, const Step& step, std::span<const Operand> operands, unsigned left_out)
      : kernel(row.make(step)), push(step.push) {
    for (const AddressSlot& slot : step.addresses) {
      const std::uint64_t address = reinterpret_cast<std::uintptr_t>(operands[slot.operand].address) + slot.byte_offset;
      std::memcpy(push.data() + slot.push_offset, &address, sizeof address);
    }
    machine.step = &step;
    machine.kernel = kernel.get();
    machine.push = push.data();
    machine.maps.clear();
    for (const sectile::TensorMap& map : step.tensor_maps)
      machine.maps.push_back({&map, operands[map.operand].address + map.byte_offset});
    machine.ranges = ranges_of(step, operands);
    machine.failure.clear();
    machine.barriers = 0;
    machine.left_out = left_out;
    if (kernel->shared_bytes() > step.workgroup_memory_bytes)
      machine.fail(fmt::format("{} bytes of workgroup memory, the step states {}", kernel->shared_bytes(),
                               step.workgroup_memory_bytes));
    if (step.cluster[1] != 1 || step.cluster[2] != 1) machine.fail("a cluster is not along the grid's first axis");
    gridDim = {step.grid[0], step.grid[1], step.grid[2]};
  }
};

std::string no_kernel(const Step& step) {
  return fmt::format("no CUDA kernel {}.{}", step.kernel.stem, step.kernel.variant);
}

}  // namespace

std::vector<KernelRow>& kernels() {
  static std::vector<KernelRow> rows;
  return rows;
}

const KernelRow* find_kernel(const KernelName& name) {
  for (const KernelRow& row : kernels())
    if (row.stem == name.stem && row.variant == name.variant) return &row;
  return nullptr;
}

const Words* exchange(const Words& words) {
  Fiber& self = *machine.running;
  Warp& warp = machine.group().warps[self.invocation / kWarp];
  const unsigned turn = self.exchanges++ % 2, lane = self.invocation % kWarp;
  warp.values[turn][lane] = words;
  warp.first[turn][lane] = words[0];
  warp.waiting.push_back(&self);
  switch_to_scheduler();
  return warp.values[turn].data();
}

const unsigned* exchange(unsigned value) {
  exchange(Words{value});
  const Fiber& self = *machine.running;
  return machine.group().warps[self.invocation / kWarp].first[(self.exchanges + 1) % 2].data();
}

void note_copy(unsigned char* to, const std::array<unsigned char, 16>& data, unsigned bytes) {
  Fiber& self = *machine.running;
  if (bytes != 4 && bytes != 8 && bytes != 16) machine.fail("a copy is not of 4, 8 or 16 bytes");
  if (reinterpret_cast<std::uintptr_t>(to) % bytes != 0) machine.fail("a copy to workgroup memory is misaligned");
  self.copies.push_back({to, data, bytes, self.copy_groups, 0});
}

void end_copy_group() { ++machine.running->copy_groups; }

void await_copy_groups(unsigned but) {
  Fiber& self = *machine.running;
  std::erase_if(self.copies, [&](const Copy& copy) {
    const bool awaited = copy.group + but < self.copy_groups;
    if (awaited && copy.to == nullptr)
      store_requested(copy.address, copy.data.data(), copy.bytes);
    else if (awaited)
      std::memcpy(copy.to, copy.data.data(), copy.bytes);
    return awaited;
  });
}

void __syncthreads() {
  const unsigned number = machine.running->barriers++;
  machine.barriers = std::max(machine.barriers, number + 1);
  if (number == machine.left_out) return;
  if (number == machine.last_barrier) throw ReachedLastBarrier();
  machine.group().waiting.push_back(machine.running);
  switch_to_scheduler();
}

bool may_access(const void* address, std::uint64_t bytes, bool write, const Where& where) {
  if (tracing) record(write ? Access::Kind::store : Access::Kind::load, address, bytes, where);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto say = [&](const char* what) {
    machine.fail(fmt::format("workgroup {},{},{} invocation {}: {} of {} bytes at {:#x} {}", blockIdx.x, blockIdx.y,
                             blockIdx.z, threadIdx.x, write ? "store" : "load", bytes, at, what));
    return false;
  };
  if (at % bytes != 0) return say("is misaligned");
  for (const Range& range : machine.ranges)
    if (range.write == write && at >= range.begin && at + bytes <= range.end) return true;
  return say("lies outside the step's ranges");
}

unsigned first_inside(const unsigned char* source, unsigned read, unsigned bytes, const Where& where) {
  const auto at = reinterpret_cast<std::uintptr_t>(source);
  const auto inside = [](std::uintptr_t address) {
    return std::ranges::any_of(machine.ranges, [&](const Range& range) {
      return !range.write && address >= range.begin && address < range.end;
    });
  };
  unsigned first = 0;
  while (bytes == 4 && first < read && !inside(at + first)) ++first;
  if (tracing) record(Access::Kind::load, source, read, where);
  if (at % bytes == 0 && first < read && inside(at + first) && inside(at + read - 1)) return first;
  machine.fail(
      fmt::format("workgroup {},{},{} invocation {}: {} bytes read at {:#x} are misaligned or lie outside the "
                  "step's ranges",
                  blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, read, at));
  return read;
}

unsigned barriers() { return machine.barriers; }
void set_order(unsigned order) { machine.order = order; }

void trace_word(const void* address, std::uint64_t bytes, const Where& where) {
  record(Access::Kind::workgroup, address, bytes, where);
}

void widen_word(const void* address, std::uint64_t bytes) {
  Access* const last = machine.accesses.empty() ? nullptr : &machine.accesses.back();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (last == nullptr || last->kind != Access::Kind::workgroup || last->address != at)
    return machine.fail("an access of several words does not begin at the element that was named last");
  last->bytes = static_cast<std::uint32_t>(bytes);
}

std::string run(const Step& step, std::span<const Operand> operands, unsigned left_out) {
  const KernelRow* row = find_kernel(step.kernel);
  if (row == nullptr) return no_kernel(step);
  const Prepared prepared(*row, step, operands, left_out);
  for (unsigned z = 0; z < gridDim.z; ++z)
    for (unsigned y = 0; y < gridDim.y; ++y)
      for (unsigned x = 0; x < gridDim.x; x += step.cluster[0]) run_cluster(*prepared.kernel, {x, y, z});
  return std::exchange(machine.failure, {});
}

std::string trace(const Step& step, std::span<const Operand> operands, std::uint64_t group,
                  std::vector<Access>& accesses, unsigned last_barrier) {
  const KernelRow* row = find_kernel(step.kernel);
  if (row == nullptr) return no_kernel(step);
  const Prepared prepared(*row, step, operands, kNoBarrier);
  const std::uint64_t rest = group / gridDim.x;
  const uint3 block{static_cast<unsigned>(group % gridDim.x), static_cast<unsigned>(rest % gridDim.y),
                    static_cast<unsigned>(rest / gridDim.y)};
  machine.accesses.clear();
  machine.last_barrier = last_barrier;
  tracing = true;
  run_cluster(*prepared.kernel, block);
  tracing = false;
  machine.last_barrier = kNoBarrier;
  accesses = std::exchange(machine.accesses, {});
  return std::exchange(machine.failure, {});
}

}  // namespace sectile::emulated
