// The options of `sectile calibrate`.
#pragma once

#include "measure.hpp"

#include <string>

namespace sectile::tools {

struct CalibrateOptions {
  std::string device, output;
  std::vector<std::string> from;  // files
  std::string problems;           // a file
  std::string device_class;       // --device-class: a file; the fit starts from it
  MeasureOptions measure;
  bool json = false;
};

}  // namespace sectile::tools
