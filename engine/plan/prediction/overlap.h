// Computes how long spans of work overlap with an interval.
//
// Contract: pure. Spans have start_seconds and end_seconds. They follow one another and do not overlap, like the spans
// of one device or of one lane of a simulation.
#pragma once

#include <algorithm>
#include <ranges>

namespace tandem {

template <std::ranges::random_access_range Spans>
double overlap_seconds(const Spans& spans, double start, double end) {
  double sum = 0;
  auto at = std::ranges::lower_bound(spans, start, {}, &std::ranges::range_value_t<Spans>::end_seconds);
  for (; at != spans.end() && at->start_seconds < end; ++at)
    sum += std::max(0.0, std::min(end, at->end_seconds) - std::max(start, at->start_seconds));
  return sum;
}

}  // namespace tandem
