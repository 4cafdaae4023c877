// Starts the built command and takes what it says.
#pragma once

#include <string>
#include <vector>

namespace sectile::test {

struct Ran {
  int code = -1;  // exit code; 128 + signal where it was killed
  std::string out, err;
};

Ran run_sectile(const std::vector<std::string>& arguments);
Ran run_program(const std::string& program, const std::vector<std::string>& arguments);

// A folder of its own, removed with all that is in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::size_t files() const;  // how many are in it

 private:
  std::string path_;
};

void write_file(const std::string& path, const std::string& text);
std::string read_file(const std::string& path);

// A .npy of float32, C order, as NumPy writes it: npy("(3, 4)", 12).
std::string npy(const std::string& shape, std::size_t elements);

// The name of a CPU device to test on ("llvmpipe"); empty where there is none.
const std::string& cpu_device();

}  // namespace sectile::test
