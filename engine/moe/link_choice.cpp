// Decides by measurement whether copying experts pays. Predictions decide when to try, and medians of passes decide
// what stays.
#include "engine/moe/link_choice.h"

#include <algorithm>
#include <utility>

namespace tandem {
namespace {

constexpr double kNewest = 0.2;  // weight of the newest expectation
constexpr size_t kCompared = 8;  // passes whose median is compared
// Laws that expect so much of a pass's time to be saved are right without a measurement of the other way.
constexpr double kSavesMuch = 0.3;
constexpr int64_t kLongest = 1 << 14;  // passes of a period

}  // namespace

LinkChoice::LinkChoice(const LinkPeriods& periods)
    : periods_(periods),
      away_(periods.first_away),
      away_without_gain_(periods.away_without_gain),
      stay_(periods.stay) {}

// A text that is expected to gain much begins with the link at once.
void LinkChoice::begin(const ExpectedExperts& expected) {
  if (expected.with_link < (1 - kSavesMuch) * expected.without) begin(Period::trial);
}

void LinkChoice::begin(Period period) {
  period_ = period;
  uses_ = period == Period::trial || period == Period::stay;
  passes_ = 0;
  seconds_.clear();
}

// Periods without an expected gain are longer, since a trial costs time and would rarely win.
bool LinkChoice::is_over() const {
  switch (period_) {
    case Period::away:
      return passes_ >= (gain_ > 0 ? away_ : away_without_gain_);
    case Period::trial:
      return passes_ >= periods_.trial;
    case Period::stay:
      return passes_ >= stay_;
    case Period::check:
      return passes_ >= periods_.check;
  }
  return false;
}

double LinkChoice::median_of_period() const {
  std::vector<double> sorted = seconds_;
  const auto middle = sorted.begin() + std::ssize(sorted) / 2;
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

// Counts a pass, and chooses the next period when this one is over. The first pass of a period touches memory that the
// passes before it did not, so its time is left out. A lost trial doubles the time until the next one.
void LinkChoice::took(const ExpectedExperts& expected, double seconds) {
  const double gain = expected.without - expected.with_link;
  gain_ = std::exchange(knows_gain_, true) ? gain_ + kNewest * (gain - gain_) : gain;
  if (++passes_ > 1) {
    if (seconds_.size() == kCompared) seconds_.erase(seconds_.begin());
    seconds_.push_back(seconds);
  }
  if (!is_over()) return;
  (uses_ ? with_ : without_) = median_of_period();
  if (period_ == Period::trial && without_ == 0)
    return begin(gain_ > kSavesMuch * with_ ? Period::stay : Period::check);
  const bool wins = with_ < without_;
  switch (period_) {
    case Period::away:
      return begin(Period::trial);
    case Period::stay:
      return begin(Period::check);
    case Period::trial:
    case Period::check:
      if (period_ == Period::check && wins) stay_ = std::min(2 * stay_, kLongest);
      if (!wins) {
        away_ = std::min(std::max(2 * away_, periods_.away_behind_trial), kLongest);
        away_without_gain_ = std::min(2 * away_without_gain_, kLongest);
        stay_ = periods_.stay;
      }
      return begin(wins ? Period::stay : Period::away);
  }
}

}  // namespace tandem
