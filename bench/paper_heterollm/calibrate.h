// Fits the constants of a processor profile to the paper's calibration rows, one constant to one number, in an order
// in which each depends little on the later ones, round after round until they stand still.
//
// Contract: reads nothing but the calibration rows' printed numbers (quantities.h names them). Every fit is a bisection
// of one constant on the model clock, kept within bounds; a number that the bounds do not reach leaves a residual. The
// on-chip capacity is the one constant without a number of its own: it is the one of a fixed list with the least sum of
// squared relative residuals; of equals the smallest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/paper/report.h"
#include "bench/paper_heterollm/lab.h"

namespace tandem::paper_heterollm {

struct Fit {
  std::string key;   // of the profile
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
// `says` hears of every capacity that was tried.
Calibration calibrate(const SocProfile& start, Decoders& decoders, const Capacities& capacities,
                      const std::function<void(const std::string&)>& says);

}  // namespace tandem::paper_heterollm
