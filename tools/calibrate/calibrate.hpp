// The options of `sectile calibrate`.
#pragma once

#include "measure.hpp"

#include <string>

namespace sectile::tools {

struct CalibrateOptions {
  std::string device, output, from;
  MeasureOptions measure;
  bool json = false;
};

}  // namespace sectile::tools
