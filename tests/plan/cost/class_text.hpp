// The JSON of classes of devices, and what their reader says of it.
#pragma once

#include "plan/cost/device_class.hpp"

#include <nlohmann/json.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace sectile::test {

// The file of a class that is built in.
inline nlohmann::json class_text(std::string_view name) {
  for (const std::string_view text : detail::builtin_class_texts())
    if (nlohmann::json value = nlohmann::json::parse(text); value["name"] == name) return value;
  FAIL("no class of this name");
  return {};
}

// A file without numbers, of devices like those of a class that is built in.
inline nlohmann::json empty_class(std::string_view like) {
  const nlohmann::json whole = class_text(like);
  return {{"schema", 2}, {"name", "mine"}, {"devices", whole["devices"]}, {"provenance", whole["provenance"]}};
}

inline DeviceClassPtr class_of(const nlohmann::json& value) {
  auto read = device_class_from_json(value.dump());
  REQUIRE_MESSAGE(read.has_value(), (read ? "" : read.error().message()));
  return *read;
}

// The message of the reader of a file in which numbers may be lacking; empty: it is read.
inline std::string class_refusal(const nlohmann::json& value) {
  const auto read = device_class_from_json(value.dump());
  return read ? "" : read.error().message();
}

// The same for a file that is built in, where nothing may be lacking.
inline std::string builtin_refusal(const nlohmann::json& value) {
  const auto read = detail::read_device_class(value.dump(), detail::Lacking::refused);
  return read ? "" : read.error().message();
}

}  // namespace sectile::test
