// Fits the constants of a profile's experts section, and those of the drawn routing, to the paper's calibration rows.
//
// Contract: reads only the numbers of calibration rows. It solves for the constants in turn, in an order in which none
//   depends on a later one. A step uses one number, or as many as it has constants. The two constants of the routing
//   are the best of a grid, by the sum of squared relative errors of two numbers.
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

// The pair of sigmas that comes nearest to NF31's share of dropped choices and to NF53's Overlap@4, on a grid of 0.1
// and 0.05.
RoutingModel calibrated_routing(const ChipExperts& chip);

}  // namespace tandem::paper_npumoe
