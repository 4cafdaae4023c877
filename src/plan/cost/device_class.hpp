// A class of devices: the numbers that a cost model has for them, where they come from, and which devices they are.
// Each class that is built in is a file of src/device/classes; docs/reference/device-class.md describes it.
#pragma once

#include "numbers.hpp"

#include <sectile/device_class.hpp>
#include <sectile/error.hpp>
#include <sectile/profile.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile {

namespace detail {

// Which devices a class is of. What is not stated is not asked.
struct ClassDevices {
  Api api = Api::vulkan;
  bool cpu = false;  // or a GPU
  std::string vendor;
  std::optional<std::uint32_t> first_device_id, last_device_id;
  std::optional<std::uint32_t> cuda_architecture, subgroup_size;
  std::vector<std::string> names;  // of devices, or of targets without an ID
  bool operator==(const ClassDevices&) const = default;
};

// A copy, and how long it took: pairs of bytes and picoseconds.
using ClassCopy = std::array<std::uint64_t, 2>;

// Where and when a class was measured, and what the device did with next to no work; the planner reads none of it.
struct ClassProvenance {
  std::string device, driver, dates, command, planner;
  std::uint32_t measurements = 0;
  std::vector<ClassCopy> copies;                             // with no data in a cache
  std::optional<std::uint64_t> empty_dispatch, second_step;  // picoseconds; of a plan with a barrier before it

  // One line, such as "NVIDIA H200, driver 580.159.04, 2026-11-21 to 23".
  std::string text() const;
};

}  // namespace detail

class DeviceClass {
 public:
  std::string name, id;  // id: a hash of its numbers
  detail::ClassDevices devices;
  detail::ClassProvenance provenance;
  std::string measured;  // provenance.text()
  detail::ClassNumbers numbers;
  detail::ClassRows rows;
  std::vector<std::string> derived;  // numbers that the file lacks: "gemm_gpu.latency", "rows.matvec 1 by 32 2x4"
  std::vector<std::string> unknown;  // rows of the file that no table has
  std::vector<std::pair<std::string, std::string>> notes;
};

namespace detail {

// What a class's file may lack: nothing, or numbers, which are then those of the base_class() of its API and kind.
enum class Lacking : std::uint8_t { refused, derived };

// A class from the JSON of its file. Errors: parse, with the name of a field that is missing, unknown, out of its
// range, or of another kind of device.
Result<DeviceClass> read_device_class(std::string_view text, Lacking lacking);

// The text of each class that is built in.
const std::vector<std::string_view>& builtin_class_texts();
const std::vector<DeviceClass>& builtin_classes();
// Null where there is none of this name.
const DeviceClass* builtin_class(std::string_view name);
// The class whose numbers stand for those that are not known of a device of this API and kind.
const DeviceClass& base_class(Api api, bool cpu);
// The built-in class that was measured on devices like this one; null where there is none.
const DeviceClass* measured_class_of(const DeviceProfile& profile);

// A device's share of a bandwidth that was measured on one with so many multiprocessors.
std::uint32_t bandwidth_share(std::uint32_t whole, std::uint64_t multiprocessors, std::uint32_t measured) noexcept;

// Whether a class is of devices like this one. Planning asks it of each built-in class: it allocates nothing.
bool is_of(const ClassDevices& devices, const DeviceProfile& profile) noexcept;
// What the profile has in place of what is_of() misses first; empty where it misses nothing.
std::string other_device(const ClassDevices& devices, const DeviceProfile& profile);

}  // namespace detail
}  // namespace sectile
