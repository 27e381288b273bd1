// Fits the constants of the HybriMoE model to the paper's calibration rows.
//
// Contract: reads the numbers of calibration rows alone, and the share of a real trace's choices that a fixed quarter
// of its experts gets.
#pragma once

#include <vector>

#include "bench/paper/report.h"
#include "bench/paper_hybrimoe/lab.h"

namespace tandem::paper_hybrimoe {

// Of data/moe-traces/flame-moe-290m: the 16 experts that the first half of the tokens chose most, judged on the second.
inline constexpr double kFixedShareOfTrace = 0.28835;

struct Calibration {
  Machine machine;
  double sigma = 0;
  std::array<double, kMixtures.size()> rho{};
  std::vector<paper::Residual> residuals;
};
Calibration calibrate();

}  // namespace tandem::paper_hybrimoe
