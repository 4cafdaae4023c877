// The workgroups that run now, and everything about them: what emulated.cpp and warpgroup_unit.cpp share.
#pragma once

#include "emulated.hpp"
#include "kernel.hpp"
#include "matrix_unit.hpp"

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sectile::emulated {

struct Range {
  std::uint64_t begin, end;
  bool write;
};

// An asynchronous copy to workgroup memory that has not landed.
struct Copy {
  unsigned char* to = nullptr;
  std::array<unsigned char, 16> data{};
  unsigned bytes = 0, group = 0;
  unsigned address = 0;  // instead of `to`: in the memory that the launch requested
};

struct Fiber {
  static constexpr std::size_t kStack = std::size_t{256} * 1024;
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack;
  unsigned rank = 0, invocation = 0;     // the workgroup's in its cluster, and the invocation's in the workgroup
  unsigned exchanges = 0, barriers = 0;  // that its invocation came to
  std::vector<Copy> copies;              // that its invocation has not waited for
  unsigned copy_groups = 0;              // that it ended
  // What it stored to workgroup memory, (address, bytes), and has not published to copies.
  std::vector<std::pair<unsigned, unsigned>> unpublished;
  // Of a warpgroup's products: those that it began, the groups that it ended, and whether it ordered its accesses to
  // sums before those that follow.
  unsigned products = 0, product_groups = 0;
  bool ordered = false;
  void* fake_stack = nullptr;  // the address sanitizer's
};

// A warp's lanes on the way to an exchange. Those who have their values may hand in the next before the others have
// read these, but no more: hence two places.
struct Warp {
  std::array<std::array<Words, kWarp>, 2> values{};
  std::array<std::array<unsigned, kWarp>, 2> first{};  // of the four words
  std::vector<Fiber*> waiting;
};

// An mbarrier.
struct PhaseBarrier {
  unsigned arrivals = 0;  // that complete a phase
  unsigned missing = 0;   // of the phase that runs
  std::int64_t bytes = 0;
  unsigned phase = 0;
  bool published = false, met = false;  // met: the cluster has met since
  std::vector<Fiber*> waiting;
};
// Of named barriers, and of a cluster.
struct CountedBarrier {
  unsigned invocations = 0, arrived = 0;
  std::vector<Fiber*> waiting;
};

// Products that a warpgroup began; the pointers are its lanes' sums.
struct WarpgroupProducts {
  ProductShape shape;
  std::uint64_t a = 0, b = 0;
  unsigned group = 0;
  std::array<void*, kWarpgroupLanes> sums{};
  std::array<const unsigned*, kWarpgroupLanes> words{};  // of A, if it is in registers
  unsigned lanes = 0;                                    // that have begun them
};
struct Warpgroup {
  std::vector<WarpgroupProducts> products;
  unsigned finished = 0;  // products
  std::vector<Fiber*> waiting;
};

// Workgroup memory has two images: what invocations see, and what copies of boxes and products see. The second has an
// invocation's stores when it has published them.
struct Workgroup {
  uint3 block{};
  unsigned finished = 0;  // invocations
  std::vector<Warp> warps;
  std::vector<Fiber*> waiting;  // at __syncthreads()
  std::vector<unsigned char> memory, copied;
  std::map<unsigned, PhaseBarrier> barriers;  // by address
  std::map<unsigned, CountedBarrier> named;
  std::vector<Warpgroup> warpgroups;
  std::map<unsigned, unsigned> registers;  // of an invocation, of the warpgroups that have traded
};

// A copy of a box that has not landed.
struct BoxCopy {
  const TensorMap* map = nullptr;
  std::array<int, 5> first{};
  unsigned to = 0, barrier = 0;
  unsigned ranks = 0;  // a bit for each workgroup of the cluster that gets it
};

// Words that an invocation sent to another workgroup, and that have not landed.
struct SentWords {
  std::array<unsigned, 4> words;
  unsigned address, rank, barrier;
};

struct Machine {
  const Step* step = nullptr;
  Kernel* kernel = nullptr;
  const std::uint8_t* push = nullptr;
  std::vector<TensorMap> maps;
  std::vector<Range> ranges;
  std::string failure;

  ucontext_t scheduler{};
  void* scheduler_fake_stack = nullptr;
  const void* scheduler_stack = nullptr;
  std::size_t scheduler_stack_bytes = 0;
  std::vector<std::unique_ptr<Fiber>> fibers;  // kept from group to group
  std::vector<Fiber*> idle, ready;
  std::vector<Workgroup> cluster;
  CountedBarrier cluster_barrier;
  std::vector<BoxCopy> copies;
  std::vector<SentWords> sent;
  unsigned order = 0;
  bool backwards = false, at_once = false;  // at_once: a copy of a box lands when it is begun
  Fiber* running = nullptr;
  unsigned next = 0;  // invocation of the cluster
  unsigned barriers = 0, left_out = kNoBarrier, last_barrier = kNoBarrier;
  std::vector<Access> accesses;  // while `tracing`

  unsigned size() const { return step->workgroup[0]; }
  unsigned invocations() const { return size() * static_cast<unsigned>(cluster.size()); }
  Workgroup& group() { return cluster[running->rank]; }
  void fail(std::string what) {
    if (failure.empty()) failure = std::move(what);
  }
};
inline Machine machine;

void switch_to_scheduler();
// Lets one copy of a box land, or all words that were sent; false: there is none.
bool land_copy();
void land_sent();

}  // namespace sectile::emulated
