// Asks how well a prediction does on shapes that it was not fitted to, since a planner meets such shapes every day.
#include "engine/measure/prediction_mode/cross_validation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "engine/plan/prediction/statistics.h"
#include "sync/error.h"

namespace tandem {
namespace {

PredictionErrors summed_up(std::vector<double> errors) {
  const Distribution spread = summarise(std::move(errors));
  return {static_cast<size_t>(spread.count), spread.p50, spread.p90};
}

}  // namespace

// Linear between the two nearest sizes, and beyond the largest size on the line through the last two. Fewer tokens than
// the smallest size cost as much as that size. Beyond a single size, time is proportional to tokens.
double interpolate_tokens(std::span<const int64_t> sizes, int64_t S, const std::function<double(int64_t)>& seconds) {
  TANDEM_CHECK(!sizes.empty(), "there is a measured size");
  auto above = std::ranges::lower_bound(sizes, S);
  if (above != sizes.end() && (*above == S || above == sizes.begin())) return seconds(*above);
  if (sizes.size() == 1) return seconds(sizes[0]) * static_cast<double>(S) / static_cast<double>(sizes[0]);
  if (above == sizes.end()) --above;
  const int64_t low = above[-1], high = above[0];
  const double at_low = seconds(low), at_high = seconds(high);
  return at_low + (at_high - at_low) * static_cast<double>(S - low) / static_cast<double>(high - low);
}

// Takes whole shapes, so that no token count of a held-out shape helps the prediction.
Halves halves_by_shape(std::span<const MeasuredPoint> points) {
  std::map<std::tuple<std::string, int64_t, int64_t>, std::vector<MeasuredPoint>> shapes;
  for (const MeasuredPoint& measured : points)
    shapes[{measured.point.format, measured.point.K, measured.point.rows}].push_back(measured);
  Halves halves;
  bool learn = true;
  for (const auto& [shape, of] : shapes) {
    auto& half = learn ? halves.learnt : halves.held_out;
    half.insert(half.end(), of.begin(), of.end());
    ++(learn ? halves.learnt_shapes : halves.held_out_shapes);
    learn = !learn;
  }
  return halves;
}

// Relative errors, so that small and large operators count alike.
PredictionErrors errors_of(const MatMulPrediction& prediction, std::span<const MeasuredPoint> points) {
  std::vector<double> errors;
  for (const auto& [point, seconds] : points) errors.push_back(std::abs(prediction.seconds(point) - seconds) / seconds);
  return summed_up(std::move(errors));
}

// First collects the standard sizes of each shape, then interpolates every other size between them.
PredictionErrors errors_between_sizes(std::span<const MeasuredPoint> points) {
  std::map<MatMulPoint, std::map<int64_t, double>> by_shape;  // at standard sizes; the key's tokens are 0
  const auto shape_of_point = [](MatMulPoint point) {
    point.S = 0;
    return point;
  };
  const auto is_standard = [](int64_t S) { return S <= 8 || std::has_single_bit(static_cast<uint64_t>(S)); };
  for (const auto& [point, seconds] : points) {
    if (is_standard(point.S)) by_shape[shape_of_point(point)][point.S] = seconds;
  }
  std::vector<double> errors;
  for (const auto& [point, seconds] : points) {
    if (is_standard(point.S)) continue;
    const std::map<int64_t, double>& known = by_shape[shape_of_point(point)];
    std::vector<int64_t> sizes;
    for (const auto& [S, at] : known) sizes.push_back(S);
    if (sizes.empty() || point.S < sizes.front() || point.S > sizes.back()) continue;
    const double between = interpolate_tokens(sizes, point.S, [&](int64_t S) { return known.at(S); });
    errors.push_back(std::abs(between - seconds) / seconds);
  }
  return summed_up(std::move(errors));
}

}  // namespace tandem
