#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include "support/paths.hpp"

// A file of tests/data.
inline std::string data_file(const std::string& name) {
  std::ifstream file(sectile::test::data_folder() + "/" + name, std::ios::binary);
  if (!file) throw std::runtime_error("tests/data/" + name + " is not there");
  return {std::istreambuf_iterator<char>(file), {}};
}
