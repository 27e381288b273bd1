#include "engine/run/choice/pass_times.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "engine/plan/prediction/statistics.h"

namespace tandem {
namespace {

constexpr size_t kRemembered = 5;   // passes of a width
constexpr double kSame = 1.25;      // ratios that differ by less are the same
constexpr double kWishedTimes = 2;  // the cost of opening, before a width is opened

// The last few passes count, whatever came before.
void remember(std::vector<double>& values, double value) {
  if (values.size() == kRemembered) values.erase(values.begin());
  values.push_back(value);
}

}  // namespace

bool is_draft_width(const PassBase& base, int64_t tokens) {
  const bool is_even = tokens <= 16 && tokens % 2 == 0;
  return tokens > 0 && (std::has_single_bit(static_cast<uint64_t>(tokens)) || (base.tokens > 1 && is_even));
}

// Times of all widths from the pass without drafts on. A width that may not run is infinite, so nobody chooses it.
std::vector<double> PassTimes::seconds(const PassBase& base, int64_t most, int64_t position, bool only_open) {
  std::vector<double> seconds;
  for (int64_t n = 0; n <= most; ++n) {
    const Width width = width_of(base, base.tokens + n);
    // Several texts without drafts run at any width.
    const bool runs = n == 0 || (is_draft_width(base, base.tokens + n) && (!only_open || widths_[width].is_open));
    seconds.push_back(runs ? predicted(width, position) * ratio(width) : std::numeric_limits<double>::infinity());
  }
  return seconds;
}

// A width that was forgotten is judged by its next pass. If the old ratio was right, it is trusted for twice as long.
void PassTimes::learn(const PassBase& base, int64_t tokens, int64_t position, double seconds) {
  const Width width = width_of(base, tokens);
  Known& known = widths_[width];
  known.is_open = true;
  ++passes_;
  if (!std::exchange(known.ran, true)) return;  // the first pass is longer than others
  const double ratio = seconds / predicted(width, position);
  if (is_forgotten(known) && !known.ratios.empty()) {
    const bool was_right = ratio > median(known.ratios) / kSame;
    known.patience = was_right ? std::min(2 * known.patience, kMostPatience) : kPatience;
    known.ratios.clear();
    known.seconds.clear();
  }
  known.learnt_at = passes_;
  remember(known.ratios, ratio);
  remember(known.seconds, seconds);
}

// Passes that wanted a width add up what they would have gained with it.
void PassTimes::add_wish(const PassBase& base, int64_t tokens, double gained_seconds) {
  Known& known = widths_[width_of(base, tokens)];
  known.wished_seconds += gained_seconds;
  if (known.wished_seconds > kWishedTimes * opening_seconds_) known.is_open = true;
}

std::map<int64_t, double> PassTimes::measured() const {
  std::map<int64_t, double> times;
  for (const auto& [width, known] : widths_)
    if (!width.several_texts && !width.has_trees && !known.seconds.empty()) times[width.tokens] = median(known.seconds);
  return times;
}

// A prediction takes the time to list all operators, so it is kept for a page of positions.
double PassTimes::predicted(const Width& width, int64_t position) {
  constexpr int64_t kPage = 256;
  const auto [place, added] = predicted_.try_emplace({width, position / kPage}, 0);
  if (added) place->second = predict_(width.tokens, position / kPage * kPage, width.has_trees);
  return place->second;
}

// The nearest width stands in for one without passes. Widths of other kinds are far away.
double PassTimes::ratio(const Width& width) const {
  const Known* nearest = nullptr;
  int64_t distance = 0;
  for (const auto& [other, known] : widths_) {
    const int64_t away = std::abs(other.tokens - width.tokens) +
                         (other.several_texts == width.several_texts ? 0 : 1000) +
                         (other.has_trees == width.has_trees ? 0 : 100);
    if (known.ratios.empty() || is_forgotten(known) || (nearest && away >= distance)) continue;
    nearest = &known, distance = away;
  }
  return nearest ? median(nearest->ratios) : 1;
}

}  // namespace tandem
