// What known drivers do that their reported features do not say.
#pragma once

#include <sectile/profile.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::detail {

// What a quirk does to the profile. All but `note` act on the field that `avoid` names.
enum class Effect : std::uint8_t {
  note,    // nothing: `avoid` is a habit, for whoever writes kernels
  forbid,  // the feature is taken for absent, and what hangs on it with it
  clear,   // the value is not to be trusted: unknown
  lower,   // at most `most`
};

struct Quirk {
  std::string_view vendor = {};           // DeviceProfile::vendor; empty: any
  std::string_view driver = {};           // part of DeviceProfile::driver; empty: any
  std::string_view device = {};           // part of DeviceProfile::name; empty: any
  DeviceKind kind = DeviceKind::unknown;  // unknown: any
  std::uint32_t subgroup_size = 0;        // DeviceProfile::subgroup_size; 0: any
  std::string_view from = {};             // driver versions that have it: the first one,
  std::string_view below = {};            // and the first one that has it no more; empty: no such bound
  std::string_view avoid = {};            // a field of DeviceProfile, or a habit
  Effect effect = Effect::note;
  std::uint32_t most = 0;                         // of Effect::lower
  std::span<const std::string_view> except = {};  // parts of names that the row does not speak for
  std::string_view why = {};
  std::string_view source = {};
};

std::span<const Quirk> all_quirks();

// The version in a driver's text: its first number with a dot in it, "26.1.6" in "radv Mesa 26.1.6-1". Empty if none.
std::string_view driver_version_of(std::string_view driver);

// Whether a version is in [from, below). One that is not known may be: it is.
bool version_in(std::string_view version, std::string_view from, std::string_view below);

bool speaks_for(const Quirk& quirk, const DeviceProfile& profile);

// Rows that speak for the profile's vendor, driver, device, kind and driver version.
std::vector<Quirk> quirks_for(const DeviceProfile& profile);

// Lets each of quirks_for(profile) act. The source of a field that was changed says "quirk: " and why; the fields
// that are right already stay as they are, so that doing it twice changes nothing.
void apply_quirk(const Quirk& quirk, DeviceProfile& profile);
void apply_quirks(DeviceProfile& profile);

// "cooperative_matrix: why (source)", for people.
std::string describe(const Quirk& quirk);

}  // namespace sectile::detail
