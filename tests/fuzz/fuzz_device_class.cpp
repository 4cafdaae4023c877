// Whatever the file of a class of devices holds: no crash, a class that is accepted has no number that is 0 where the
// planner divides, it is written as it was read, and the planner can plan with it.
#include "plan/cost/device_class.hpp"
#include "plan/cost/number_names.hpp"

#include <sectile/planner.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void check(bool right) {
  if (!right) std::abort();
}

void check_numbers(const sectile::DeviceClass& c) {
  sectile::detail::for_each_group(c.numbers, c.devices.cpu, [](const char*, auto&& each) {
    each([](const char*, const std::uint32_t& number, const sectile::detail::NumberRule& rule) {
      check(number != 0 || rule.least == 0);
    });
  });
  for (std::size_t t = 0; t < sectile::detail::kCostTables; ++t)
    for (const auto& row : c.rows.rows[t])
      check(row.rate != 0 || !sectile::detail::has_rates(static_cast<sectile::detail::CostTable>(t)));
}

// A profile of the class's kind of device, whatever device the class is of.
const sectile::DeviceProfile& profile_like(const sectile::DeviceClass& c) {
  static const sectile::DeviceProfile cpu = sectile::builtin_target("lavapipe").value(),
                                      vulkan = sectile::builtin_target("nvidia-hopper").value(),
                                      cuda = sectile::builtin_target("cuda:sm_90a").value();
  return c.devices.cpu ? cpu : c.devices.api == sectile::Api::cuda ? cuda : vulkan;
}

void check_plans(const sectile::DeviceClassPtr& c) {
  static const std::vector<sectile::Problem> problems = [] {
    std::vector<sectile::Problem> all;
    for (const char* const text :
         {"permute f32 512x512 axes=1,0", "matmul f16 nt 512x512x512", "conv2d f32 nchw 1x64x56x56 k=64 r=3x3 p=1"})
      all.push_back(sectile::parse_problem(text).value());
    return all;
  }();
  // Beyond this the last product of gemm_cost() leaves 63 bits, at costs that no real device has.
  sectile::DeviceProfile profile = profile_like(*c);
  profile.device_class = c;
  for (const auto& problem : problems) check(sectile::make_plan(problem, profile, {.explain = true}).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // With nothing lacking, as the library's own are read.
  if (const auto whole = sectile::detail::read_device_class(text, sectile::detail::Lacking::refused); whole) {
    check_numbers(*whole);
    check(whole->derived.empty());
  }
  const auto read = sectile::device_class_from_json(text);
  if (!read) {
    check(!read.error().message().empty());
    return 0;
  }
  check_numbers(**read);
  const auto again = sectile::device_class_from_json(sectile::to_json(**read));
  check(again.has_value() && (*again)->id == (*read)->id);
  check_plans(*read);
  return 0;
}
