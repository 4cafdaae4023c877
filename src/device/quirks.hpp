// Known faults of drivers, which their reported features do not show.
#pragma once

#include <sectile/profile.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::detail {

// A quirk's effect on the profile. All but `note` change the field that `avoid` names.
enum class Effect : std::uint8_t {
  note,    // none: `avoid` is advice for authors of kernels
  forbid,  // the feature, and those that depend on it, become absent
  doubt,   // the field becomes false, whether it was known or not
  clear,   // the value becomes unknown
  lower,   // at most `most`
};

struct Quirk {
  std::string_view vendor = {};           // DeviceProfile::vendor; empty: any
  std::string_view driver = {};           // part of DeviceProfile::driver; empty: any
  std::string_view device = {};           // part of DeviceProfile::name; empty: any
  DeviceKind kind = DeviceKind::unknown;  // unknown: any
  std::uint32_t subgroup_size = 0;        // DeviceProfile::subgroup_size; 0: any
  std::string_view from = {};             // the first driver version with the fault; empty: no bound
  std::string_view below = {};            // the first one without it again; empty: no bound
  std::string_view avoid = {};            // a field of DeviceProfile, or a practice
  Effect effect = Effect::note;
  std::uint32_t most = 0;                         // of Effect::lower
  std::span<const std::string_view> except = {};  // parts of names that the row does not apply to
  std::string_view why = {};
  std::string_view source = {};
};

std::span<const Quirk> all_quirks();

// The version in a driver's text: its first number with a dot in it, "26.1.6" in "radv Mesa 26.1.6-1". Empty if none.
std::string_view driver_version_of(std::string_view driver);

// Whether a version is in [from, below). An unknown version counts as inside.
bool version_in(std::string_view version, std::string_view from, std::string_view below);

bool speaks_for(const Quirk& quirk, const DeviceProfile& profile);

// Rows that apply to the profile's vendor, driver, device, kind and driver version.
std::vector<Quirk> quirks_for(const DeviceProfile& profile);

// Applies each of quirks_for(profile). The source of a changed field is "quirk: " and the reason. Fields that already
// have the right value stay unchanged, so that a second application has no effect.
void apply_quirk(const Quirk& quirk, DeviceProfile& profile);
void apply_quirks(DeviceProfile& profile);

// "cooperative_matrix: why (source)", for people.
std::string describe(const Quirk& quirk);

}  // namespace sectile::detail
