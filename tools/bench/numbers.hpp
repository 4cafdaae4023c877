// Numbers that come from files. They are bounded when they are read, so that no product or quotient of them leaves the
// range of a double, and so that a page's axes stay finite.
#pragma once

#include <sectile/error.hpp>

#include <nlohmann/json.hpp>

#include <map>
#include <string>

namespace sectile::tools {

// Reads members of an object: what is not there leaves `out` as it is. Errors: parse, naming `what` and the member.
class FileNumbers {
 public:
  FileNumbers(const nlohmann::json& object, std::string what) : object_(object), what_(std::move(what)) {}

  void seconds(const char* key, double& out) { read(key, kLeastSeconds, kMostSeconds, "seconds", out); }
  void count(const char* key, double& out) { read(key, 1, kMostCount, "a number", out); }
  void rate(const char* key, double& out) { read(key, 1, kMostCount, "a rate", out); }
  // {name: seconds}; 0 is none here.
  void seconds_by_name(const char* key, std::map<std::string, double>& out);

  Result<void> finish() const { return error_; }

 private:
  static constexpr double kLeastSeconds = 1e-12, kMostSeconds = 1e9, kMostCount = 1e21;
  friend Result<double> file_seconds(const nlohmann::json& value, std::string what);

  void read(const char* key, double least, double most, const char* kind, double& out);

  const nlohmann::json& object_;
  std::string what_;
  Result<void> error_;
};

// Seconds above 0. Errors: parse, naming `what`.
Result<double> file_seconds(const nlohmann::json& value, std::string what);

}  // namespace sectile::tools
