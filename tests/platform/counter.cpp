// Adds to a number in a file under its lock; several processes at once lose nothing: platform_counter FILE TIMES.
#include "backend/whole_file.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

using namespace sectile;

namespace {

Result<void> add_one(const std::string& path) {
  const auto lock = backend::FileLock::take(path);
  if (!lock) return std::unexpected(lock.error());
  const auto text = backend::read_whole_file(path, 100, backend::Streams::refused);
  if (!text && text.error().kind != ErrorKind::missing) return std::unexpected(text.error());
  const std::string next = std::to_string(text ? std::atoi(text->c_str()) + 1 : 1);
  const std::array parts = {std::as_bytes(std::span(std::string_view(next)))};
  return backend::write_whole_file(path, parts, backend::Streams::refused);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = argc == 3 ? std::atoi(argv[2]) : 0; i > 0; --i) {
    const auto added = add_one(argv[1]);
    if (added) continue;
    std::fprintf(stderr, "%s\n", added.error().message().c_str());
    return 1;
  }
  return argc == 3 ? 0 : 2;
}
