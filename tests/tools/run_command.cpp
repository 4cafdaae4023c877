#include "run_command.hpp"
#include "support/paths.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <sys/wait.h>

namespace sectile::test {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

Folder::Folder() {
  std::array<char, 32> name{"/tmp/sectile-test-XXXXXX"};
  path_ = ::mkdtemp(name.data());
}

Folder::~Folder() {
  std::error_code code;
  std::filesystem::remove_all(path_, code);
}

std::size_t Folder::files() const {
  const std::filesystem::directory_iterator inside(path_);
  return static_cast<std::size_t>(std::distance(begin(inside), end(inside)));
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Ran run_program(const std::string& program, const std::vector<std::string>& arguments) {
  const Folder folder;
  std::string command = quoted(program);
  for (const std::string& argument : arguments) command += " " + quoted(argument);
  command += " > " + folder.path("out") + " 2> " + folder.path("err") + " < /dev/null";
  const int status = std::system(command.c_str());
  Ran ran;
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = read_file(folder.path("out"));
  ran.err = read_file(folder.path("err"));
  return ran;
}

// Side by side with other tests: `check` is to start no process for each processor.
Ran run_sectile(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"SECTILE_JOBS=1", sectile_command()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_program("/usr/bin/env", all);
}

std::string npy(const std::string& shape, std::size_t elements) {
  std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((10 + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  file += static_cast<char>(dictionary.size());
  file += '\0';
  file += dictionary;
  for (std::size_t i = 0; i < elements * 4; ++i) file += static_cast<char>(i * 7 + 1);
  return file;
}

const std::string& cpu_device() {
  static const std::string name = [] {
    const auto ran = run_sectile({"devices", "--json"});
    const auto json = nlohmann::json::parse(ran.out, nullptr, false);
    if (!json.is_object()) return std::string();
    // lavapipe where it is: SwiftShader compiles a kernel several times as long.
    std::string found;
    for (const auto& device : json["devices"]) {
      if (!device["usable"].get<bool>() || device["kind"] != "cpu") continue;
      if (found.empty() || device["name"].get<std::string>().starts_with("llvmpipe"))
        found = device["selector"].get<std::string>();
    }
    return found;
  }();
  return name;
}

}  // namespace sectile::test
