// A folder of this test process, gone with it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace sectile::test {

inline const std::string& process_folder() {
  struct Folder {
    std::string path;
    Folder() {
      std::string name = (std::filesystem::temp_directory_path() / "sectile-test-XXXXXX").string();
      path = ::mkdtemp(name.data());
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

}  // namespace sectile::test
