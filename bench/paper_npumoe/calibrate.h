// Fits the constants of a profile's experts section, and those of the drawn routing, to the paper's calibration rows.
//
// Contract: reads nothing but the numbers of calibration rows. Each constant is solved for in turn, from one number or
// as many as there are constants, in an order in which none depends on a later one; the routing's two are the best of a
// grid by the sum of squared relative errors of two numbers.
#pragma once

#include <vector>

#include "bench/paper/report.h"
#include "bench/paper_npumoe/lab.h"

namespace tandem::paper_npumoe {

struct Calibration {
  SocProfile profile;  // fitted values rounded to four digits, each with its rows as the source
  std::vector<paper::Residual> residuals;
};
Calibration calibrate(const SocProfile& start, Traffic& traffic);

// The pair of sigmas nearest to what NF31 says is dropped and to NF53's Overlap@4, on a grid of 0.1 and 0.05.
RoutingModel calibrated_routing(const ChipExperts& chip);

}  // namespace tandem::paper_npumoe
