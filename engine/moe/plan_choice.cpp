// Chooses between plans by prediction first and by measurement later. Every decision compares medians, because single
// passes on a shared machine vary.
#include "engine/moe/plan_choice.h"

#include <algorithm>
#include <limits>

#include "sync/error.h"

namespace tandem {
namespace {

constexpr size_t kComparedPasses = 8;  // passes whose median is compared
// Another plan is taken if it takes less than this part of the time. Medians of few passes differ by as much.
constexpr double kWorthLeaving = 0.97;
// A plan that takes this many times as long as another one did is far behind.
constexpr double kFarSlower = 1.3;
constexpr int64_t kLongestWait = 1 << 14;  // passes until a plan is tried again

// Keeps the last few passes, so that a median follows the present.
void add_latest(std::vector<double>& latest, double seconds) {
  if (latest.size() == kComparedPasses) latest.erase(latest.begin());
  latest.push_back(seconds);
}

double median_of_passes(std::vector<double> some) {
  const auto middle = some.begin() + std::ssize(some) / 2;
  std::ranges::nth_element(some, middle);
  return *middle;
}

}  // namespace

PlanChoice::PlanChoice(size_t plans, const PlanPeriods& periods)
    : periods_(periods), offers_(plans), left_(plans, Left{0, periods.again}) {
  TANDEM_CHECK(plans > 0, "a plan to choose");
}

// The least of what is known of each plan: its measurement if there is one, or else its prediction.
size_t PlanChoice::best() const {
  return static_cast<size_t>(std::ranges::min_element(offers_, {}, &Offer::seconds) - offers_.begin());
}

// Predictions may change with what was measured. They decide the first plan, and later only which plan is worth a try.
void PlanChoice::predict(std::span<const double> seconds) {
  TANDEM_CHECK(seconds.size() == offers_.size(), "a prediction for each plan");
  for (size_t p = 0; p < seconds.size(); ++p) offers_[p].predicted = seconds[p];
  if (all_passes_ == 0) plan_ = best();
}

// Whether the present plan has run long enough to be compared. A plan that is far slower than another one is judged
// early, after few passes.
bool PlanChoice::is_judged() const {
  const int64_t counted = std::ssize(seconds_);
  if (passes_ >= periods_.most) return counted > 0 || !of_trials_.empty();
  if (passes_ >= periods_.least && counted >= (periods_.least + 1) / 2) return true;
  if (counted < periods_.far_behind - 1 || counted == 0) return false;
  double known = std::numeric_limits<double>::infinity();
  for (size_t p = 0; p < offers_.size(); ++p)
    if (p != plan_ && offers_[p].measured) known = std::min(known, *offers_[p].measured);
  return median_of_passes(seconds_) > kFarSlower * known;
}

// Counts a pass of the present plan. The first pass of a plan touches memory that the passes before it did not, so it
// is left out. A measurement of another plan is forgotten after a while, and its prediction makes it worth a try again.
void PlanChoice::took(const Pass& pass) {
  ++all_passes_;
  if (++passes_ > 1) {
    if (!pass.tries && pass.variant != variant_) seconds_.clear();
    if (!pass.tries) variant_ = pass.variant;
    add_latest(pass.tries ? of_trials_ : seconds_, pass.seconds);
  }
  for (size_t p = 0; p < offers_.size(); ++p)
    if (p != plan_ && offers_[p].measured && all_passes_ >= left_[p].again) offers_[p].measured.reset();
  if (!is_judged()) return;
  offers_[plan_].measured = median_of_passes(seconds_.empty() ? of_trials_ : seconds_);
  const size_t other = best();
  if (offers_[other].seconds() < kWorthLeaving * *offers_[plan_].measured) leave_for(other);
}

// Each time that a plan is left, it waits twice as long for its next try.
void PlanChoice::leave_for(size_t other) {
  Left& left = left_[plan_];
  left.again = all_passes_ + left.wait;
  left.wait = std::min(2 * left.wait, kLongestWait);
  plan_ = other;
  passes_ = 0;
  variant_ = 0;
  seconds_.clear();
  of_trials_.clear();
}

}  // namespace tandem
