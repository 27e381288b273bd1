// Fits the constants of a phone's profile to the paper's calibration rows.
//
// Contract: reads only the numbers of calibration rows, and Table 4 as an input. Each constant solves its own equation.
// The profile's name says which rows concern it: redmi-k70-pro has SF9, and every other one has Table 3.
#pragma once

#include <vector>

#include "bench/paper/report.h"
#include "bench/paper_sdnpu/lab.h"

namespace tandem::paper_sdnpu {

struct Calibration {
  SocProfile profile;  // fitted values rounded to six digits, each with its rows as the source
  std::vector<paper::Residual> residuals;
};
// Sizes of graphs and blocks stay as they are. Error: the profile says nothing of passes.
Calibration calibrate(const SocProfile& start);

}  // namespace tandem::paper_sdnpu
