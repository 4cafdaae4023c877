// Counts a subgroup's accesses: transactions of global memory, passes over the banks of workgroup memory. Strategies
// supply the byte addresses that their kernel's invocations use. tests/emulated/accesses_test.cpp and
// matmul_accesses_test.cpp compare the counts with what the kernels do.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <array>
#include <cstdint>

namespace sectile::detail {

inline constexpr std::uint32_t kMaxLanes = 64;

// The byte addresses of one subgroup-wide access; inactive lanes hold kInactive.
struct Request {
  static constexpr std::int64_t kInactive = -1;
  std::array<std::int64_t, kMaxLanes> address;
  std::uint32_t bytes = 4;  // of each lane's access
};

class Walk {
 public:
  explicit Walk(const DeviceProfile& profile) noexcept;

  std::uint32_t lanes() const noexcept { return lanes_; }
  std::uint32_t transaction() const noexcept { return transaction_; }

  // `times`: the number of equal requests that this one represents.
  void load(const Request& request, std::uint64_t times = 1) noexcept;
  void store(const Request& request, std::uint64_t times = 1) noexcept;
  // Byte addresses in workgroup memory. The hardware serves wide accesses in groups of lanes that fill all banks once
  // (NVIDIA: 8 bytes by half-warps, 16 bytes by quarter-warps).
  void shared(const Request& request, std::uint64_t times = 1) noexcept;

  const AccessCount& count() const noexcept { return count_; }

 private:
  std::uint64_t transactions(const Request& request, std::uint64_t& ideal) const noexcept;
  std::uint32_t lanes_, transaction_, banks_, bank_bytes_;
  AccessCount count_;
};

// A sample of n similar items: all of them, or the first and the middle one, each representing about half.
struct Sample {
  std::uint32_t n;
  bool all;
  std::uint32_t size() const noexcept { return all || n <= 2 ? n : 2; }
  std::uint32_t at(std::uint32_t i) const noexcept { return all || n <= 2 ? i : i * (n / 2); }
  // How many of the n items the i-th of the sample represents.
  std::uint64_t times(std::uint32_t i) const noexcept { return all || n <= 2 ? 1 : i == 0 ? n / 2 : n - n / 2; }
};

}  // namespace sectile::detail
