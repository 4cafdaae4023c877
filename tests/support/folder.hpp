// A folder of this test process, gone with it.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <system_error>

namespace sectile::test {

inline const std::string& process_folder() {
  struct Folder {
    std::string path;
    Folder() {
      // Beside folders of other processes: until it is one that is new.
      std::random_device random;
      do {
        path = (std::filesystem::temp_directory_path() / ("sectile-test-" + std::to_string(random()))).generic_string();
      } while (!std::filesystem::create_directory(path));
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
