#include "numbers.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace sectile::tools {
namespace {

// As the file has it, cut where it is long.
std::string shown(const nlohmann::json& value) {
  constexpr std::size_t kMost = 40;
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

Result<double> bounded(const nlohmann::json& value, const std::string& what, double least, double most,
                       std::string_view kind, bool or_zero) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if ((or_zero && number == 0) || (number >= least && number <= most)) return number;
  return fail(ErrorKind::parse, what, shown(value),
              fmt::format("{}{} from {:g} to {:g}", or_zero ? "0 or " : "", kind, least, most));
}

}  // namespace

void FileNumbers::read(const char* key, double least, double most, const char* kind, double& out) {
  const auto found = object_.find(key);
  if (!error_ || found == object_.end()) return;
  const auto number = bounded(*found, what_ + "." + key, least, most, kind, true);
  if (number)
    out = *number;
  else
    error_ = std::unexpected(number.error());
}

void FileNumbers::seconds_by_name(const char* key, std::map<std::string, double>& out) {
  const auto found = object_.find(key);
  if (!error_ || found == object_.end()) return;
  const std::string what = what_ + "." + key;
  if (!found->is_object()) {
    error_ = fail(ErrorKind::parse, what, shown(*found), "an object of names and seconds");
    return;
  }
  for (const auto& [name, value] : found->items()) {
    const auto number = file_seconds(value, what + "." + name);
    if (!number) {
      error_ = std::unexpected(number.error());
      return;
    }
    out[name] = *number;
  }
}

Result<double> file_seconds(const nlohmann::json& value, std::string what) {
  return bounded(value, what, FileNumbers::kLeastSeconds, FileNumbers::kMostSeconds, "seconds", false);
}

}  // namespace sectile::tools
