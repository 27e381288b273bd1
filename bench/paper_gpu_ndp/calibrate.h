// Fits the skew of the routing to GF15.
//
// Contract: reads the numbers of calibration rows alone.
#pragma once

#include <vector>

#include "bench/paper/report.h"
#include "bench/paper_gpu_ndp/lab.h"

namespace tandem::paper_gpu_ndp {

// The skew in tenths that comes nearest to GF15, and what it leaves of the four calibration rows.
struct Calibration {
  double skew = 0;
  std::vector<paper::Residual> residuals;
};
Calibration calibrate();

}  // namespace tandem::paper_gpu_ndp
