// Fits the constants of a processor profile to the paper's calibration rows, one constant to one number. The order is
// such that each constant depends little on the later ones; rounds repeat until the constants no longer change.
//
// Contract: reads only the printed numbers of the calibration rows (quantities.h names them). Every fit is a bisection
//   of one constant on the model clock, within bounds. A number that the bounds do not reach leaves a residual. Only
//   the on-chip capacity has no number of its own. It is the entry of a fixed list with the least sum of squared
//   relative residuals; among equal sums the smallest capacity.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/paper/report.h"
#include "bench/paper_heterollm/lab.h"

namespace tandem::paper_heterollm {

struct Fit {
  std::string key;   // in the profile
  std::string from;  // rows and setting
  double least = 0, most = 0;
  double printed = 0;
  std::function<double(Lab&)> modelled;
};

using paper::Residual;

struct Calibration {
  SocProfile profile;  // fitted values rounded to four digits, each with its rows and residual as the source
  std::vector<Residual> residuals;
};

// On-chip capacities to try, in steps of 128 KiB.
struct Capacities {
  int64_t least_bytes = 512 << 10, most_bytes = 8 << 20;
};
// `says` is called for every capacity that is tried.
Calibration calibrate(const SocProfile& start, Decoders& decoders, const Capacities& capacities,
                      const std::function<void(const std::string&)>& says);

}  // namespace tandem::paper_heterollm
