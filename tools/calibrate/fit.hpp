// From raw measurements to the numbers of a class.
#pragma once

#include "calibrate.hpp"
#include "raw.hpp"

namespace sectile::tools {

// Fits a class, checks it and writes it. The exit code.
int fit_and_write(const RawCalibration& raw, const CalibrateOptions& options);

}  // namespace sectile::tools
