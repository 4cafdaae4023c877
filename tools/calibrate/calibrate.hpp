// The options of `sectile calibrate`.
#pragma once

#include "measure.hpp"

#include <string>

namespace sectile::tools {

struct CalibrateOptions {
  std::string device, output, from;
  std::string device_class;  // --device-class: a file; the fit starts from it
  MeasureOptions measure;
  bool json = false;
};

}  // namespace sectile::tools
