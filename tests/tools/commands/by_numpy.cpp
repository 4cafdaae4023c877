#include "by_numpy.hpp"

#include "tools/run_command.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <sstream>

namespace sectile::test {
namespace {

// One that takes f16 and int8, which SwiftShader does not; empty where there is none.
std::string narrow_cpu_device() {
  const auto json = nlohmann::json::parse(run_sectile({"devices", "--json"}).out, nullptr, false);
  if (!json.is_object()) return "";
  for (const auto& device : json["devices"])
    if (device["usable"].get<bool>() && device["kind"] == "cpu" &&
        device["name"].get<std::string>().find("SwiftShader") == std::string::npos)
      return device["selector"].get<std::string>();
  return "";
}

}  // namespace

void check_by_numpy(const std::string& script, const std::string& command, const std::vector<std::string>& inputs,
                    std::size_t cases) {
  const std::string device = narrow_cpu_device();
  if (device.empty()) {
    MESSAGE("skipped: no CPU device with 8- and 16-bit accesses");
    return;
  }
  const Folder folder;
  write_file(folder.path("make.py"), script);
  const Ran wrote = run_program("python3", {folder.path("make.py"), folder.path(""), "write"});
  if (wrote.code != 0) {
    MESSAGE("skipped: no python3 with numpy: " << wrote.err);
    return;
  }
  std::istringstream lines(wrote.out);
  std::size_t n = 0;
  for (std::string line; std::getline(lines, line); ++n) {
    std::vector<std::string> arguments = {command, "-o", folder.path(std::to_string(n) + ".out.npy"), "--device",
                                          device};
    for (const std::string& input : inputs) arguments.push_back(folder.path(std::to_string(n) + input + ".npy"));
    std::istringstream words(line);
    arguments.insert(arguments.end(), std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
    const Ran ran = run_sectile(arguments);
    CHECK_MESSAGE(ran.code == 0, ran.err);
  }
  CHECK(n == cases);
  const Ran read = run_program("python3", {folder.path("make.py"), folder.path(""), "read"});
  CHECK_MESSAGE(read.code == 0, read.err);
}

}  // namespace sectile::test
