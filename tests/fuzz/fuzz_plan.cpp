// Whatever a plan's JSON holds: no crash; one that is accepted passes the checker and reads back as written.
#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto plan = sectile::plan_from_json({reinterpret_cast<const char*>(data), size});
  if (!plan) {
    if (plan.error().message().empty()) std::abort();
    return 0;
  }
  if (!sectile::check_plan(*plan) || sectile::print(*plan).empty()) std::abort();
  (void)sectile::check_plan(*plan, sectile::DeviceProfile{});
  const std::string text = sectile::to_json(*plan);
  const auto again = sectile::plan_from_json(text);
  if (!again || *again != *plan || sectile::to_json(*again) != text) std::abort();
  return 0;
}
