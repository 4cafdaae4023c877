// Whatever the file of a class of devices holds: no crash, and a class that is accepted has no number that is 0.
#include "device/device_class.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

// Numbers of 32 bits, all of which are to be at least 1.
template <class Group>
void all_given(const Group& group) {
  std::uint32_t numbers[sizeof(Group) / sizeof(std::uint32_t)];
  static_assert(sizeof numbers == sizeof group);
  std::memcpy(numbers, &group, sizeof group);
  for (const std::uint32_t number : numbers)
    if (number == 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = sectile::detail::device_class_from_json({reinterpret_cast<const char*>(data), size});
  if (!read) {
    if (read.error().message().empty()) std::abort();
    return 0;
  }
  if (read->measured.empty() || read->numbers.multiprocessors == 0) std::abort();
  if (read->numbers.gemm_cpu.ps_per_kfma != 0) {
    all_given(read->numbers.permute_cpu);
    all_given(read->numbers.gemm_cpu);
  } else {
    all_given(read->numbers.permute);
    all_given(read->numbers.gemm);
  }
  return 0;
}
