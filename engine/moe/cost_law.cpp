// Learns a line through the passes: fixed seconds for each expert, and seconds for each token beyond that. The sums
// fade, so the line follows a machine whose speed changes.
#include "engine/moe/cost_law.h"

#include <algorithm>

namespace tandem {
namespace {

constexpr double kKept = 0.97;  // what older passes count when a new one comes
// Below this part of its largest value, the determinant says that all passes had the same tokens at each expert.
constexpr double kAlike = 1e-3;

}  // namespace

// A pass counts by its relative error, so that prompts and single tokens weigh the same.
void CostLaw::add(double experts, double choices, double seconds) {
  if (experts <= 0 || choices <= 0 || seconds <= 0) return;
  const double weight = 1 / (seconds * seconds);
  for (double* sum : {&ee_, &ec_, &cc_, &et_, &ct_}) *sum *= kKept;
  ee_ += weight * experts * experts;
  ec_ += weight * experts * choices;
  cc_ += weight * choices * choices;
  et_ += weight * experts * seconds;
  ct_ += weight * choices * seconds;
  ++passes_;
  fit();
}

// Least squares. A part that would be negative is 0, and the other one is fitted alone.
void CostLaw::fit() {
  const double determinant = ee_ * cc_ - ec_ * ec_;
  if (determinant > kAlike * ee_ * cc_) {
    const double fixed = (et_ * cc_ - ct_ * ec_) / determinant, per_token = (ct_ * ee_ - et_ * ec_) / determinant;
    if (fixed < 0)
      line_ = {0, ct_ / cc_};
    else if (per_token < 0)
      line_ = {et_ / ee_, 0};
    else
      line_ = {fixed, per_token};
    return;
  }
  // The factor with which the first law meets the passes best.
  const double square = first_.fixed * first_.fixed * ee_ + 2 * first_.fixed * first_.per_token * ec_ +
                        first_.per_token * first_.per_token * cc_;
  const double factor = square > 0 ? (first_.fixed * et_ + first_.per_token * ct_) / square : 0;
  line_ = {std::max(0.0, factor * first_.fixed), std::max(0.0, factor * first_.per_token)};
}

}  // namespace tandem
