#include "runtime_instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace sectile::vulkan {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  // ASCII by hand: the C library's tolower looks at the process's locale.
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string listed(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& which) {
  std::string out;
  for (const std::size_t i : which)
    out += fmt::format("{}vulkan:{} {}", out.empty() ? "" : "; ", i, candidates[i].entry.name);
  return out;
}

std::string all_listed(const std::vector<Candidate>& candidates) {
  std::vector<std::size_t> all(candidates.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return "one of " + listed(candidates, all);
}

// A UUID without its dashes, in lower case; empty where the text is none.
std::string as_uuid(std::string_view text) {
  std::string out = lower(text);
  std::erase(out, '-');
  const bool hex = std::ranges::all_of(out, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return hex && out.size() == std::size_t{2} * VK_UUID_SIZE ? out : std::string();
}

// All that a device answers to. Mesa's CPU driver calls itself llvmpipe, and everybody else lavapipe.
std::string called(const Candidate& candidate) {
  const bool lavapipe = candidate.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE;
  return lower(candidate.entry.name + "\n" + candidate.entry.driver + (lavapipe ? "\nlavapipe" : ""));
}

Result<std::size_t> best(const std::vector<Candidate>& candidates) {
  constexpr DeviceKind kOrder[] = {DeviceKind::discrete, DeviceKind::integrated, DeviceKind::virtual_gpu,
                                   DeviceKind::unknown, DeviceKind::cpu};
  for (const DeviceKind kind : kOrder)
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (candidates[i].entry.kind == kind && candidates[i].entry.unusable.empty()) return i;
  // None is usable; the first one's reason is as good as any.
  return std::unexpected(check_usable(candidates.front().snapshot.offer).error());
}

Result<std::size_t> by_index(std::string_view digits, const std::vector<Candidate>& candidates) {
  std::size_t index = 0;
  const char* const begin = digits.data();
  const char* const end = begin + digits.size();
  const auto read = std::from_chars(begin, end, index);
  if (read.ec == std::errc::invalid_argument || read.ptr != end)
    return fail(ErrorKind::parse, "device", "vulkan:" + std::string(digits), "vulkan:N");
  if (read.ec != std::errc() || index >= candidates.size())
    return fail(ErrorKind::missing, "device", "vulkan:" + std::string(digits), all_listed(candidates));
  return index;
}

}  // namespace

Result<std::size_t> select(std::string_view selector, const std::vector<Candidate>& candidates) {
  if (selector.empty()) return best(candidates);
  constexpr std::string_view kByIndex = "vulkan:";
  if (lower(selector).starts_with(kByIndex)) return by_index(selector.substr(kByIndex.size()), candidates);
  const std::string uuid = as_uuid(selector);
  const std::string text = lower(selector);
  std::vector<std::size_t> found, whole;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool same_uuid = !uuid.empty() && candidates[i].entry.uuid == uuid;
    if (same_uuid || called(candidates[i]).find(text) != std::string::npos) found.push_back(i);
    if (same_uuid || lower(candidates[i].entry.name) == text) whole.push_back(i);
  }
  // A whole name goes before names that merely hold it.
  if (whole.size() == 1) return whole.front();
  if (found.size() == 1) return found.front();
  if (found.empty()) return fail(ErrorKind::missing, "device", std::string(selector), all_listed(candidates));
  return fail(ErrorKind::missing, "device", std::string(selector) + " (more than one)",
              "one of " + listed(candidates, found));
}

}  // namespace sectile::vulkan
