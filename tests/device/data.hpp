#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

// A file of tests/data.
inline std::string data_file(const std::string& name) {
  std::ifstream file(SECTILE_TEST_DATA "/" + name, std::ios::binary);
  if (!file) throw std::runtime_error("tests/data/" + name + " is not there");
  return {std::istreambuf_iterator<char>(file), {}};
}
