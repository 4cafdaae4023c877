#include "selector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <vector>

namespace sectile::backend {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  // ASCII alone: the C library's tolower depends on the process's locale.
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// A UUID without dashes, in lower case; empty where the text is not a UUID.
std::string as_uuid(std::string_view text) {
  constexpr std::size_t kDigits = 32;
  std::string out = lower(text);
  std::erase(out, '-');
  const bool hex = std::ranges::all_of(out, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return hex && out.size() == kDigits ? out : std::string();
}

std::string listed(std::string_view prefix, std::span<const Selectable> devices,
                   const std::vector<std::size_t>& which) {
  std::string out;
  for (const std::size_t i : which)
    out += fmt::format("{}{}{} {}", out.empty() ? "" : "; ", prefix, i, devices[i].name);
  return "one of " + out;
}

std::string all_listed(std::string_view prefix, std::span<const Selectable> devices) {
  if (devices.empty()) return "a device, and there is none";
  std::vector<std::size_t> all(devices.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return listed(prefix, devices, all);
}

Result<std::size_t> by_index(std::string_view prefix, std::string_view digits, std::span<const Selectable> devices) {
  std::size_t index = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const std::string given = std::string(prefix) + std::string(digits);
  if (read.ec == std::errc::invalid_argument || read.ptr != digits.data() + digits.size())
    return fail(ErrorKind::parse, "device", given, std::string(prefix) + "N");
  if (read.ec != std::errc() || index >= devices.size())
    return fail(ErrorKind::missing, "device", given, all_listed(prefix, devices));
  return index;
}

}  // namespace

Result<std::size_t> select(std::string_view prefix, std::string_view selector, std::span<const Selectable> devices) {
  if (lower(selector).starts_with(prefix)) return by_index(prefix, selector.substr(prefix.size()), devices);
  const std::string uuid = as_uuid(selector);
  const std::string text = lower(selector);
  std::vector<std::size_t> found, whole;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string name = lower(devices[i].name);
    const bool same_uuid = !uuid.empty() && devices[i].uuid == uuid;
    if (same_uuid || (name + "\n" + lower(devices[i].called)).find(text) != std::string::npos) found.push_back(i);
    if (same_uuid || name == text) whole.push_back(i);
  }
  if (whole.size() == 1) return whole.front();
  if (found.size() == 1) return found.front();
  if (found.empty()) return fail(ErrorKind::missing, "device", std::string(selector), all_listed(prefix, devices));
  return fail(ErrorKind::missing, "device", std::string(selector) + " (more than one)", listed(prefix, devices, found));
}

}  // namespace sectile::backend
