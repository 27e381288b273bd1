// Tests prediction mode (H8) on shapes that it has not seen: it learns from one half of the measured shapes and
// predicts the other half.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/measure/prediction_mode/matmul_prediction.h"

namespace tandem {

// A shape is a weight format, K and a number of rows. Shapes are sorted. Prediction learns from the first, third, ...,
// with all their token counts. The second, fourth, ... are held out.
struct Halves {
  std::vector<MeasuredPoint> learnt, held_out;
  size_t learnt_shapes = 0, held_out_shapes = 0;
};
Halves halves_by_shape(std::span<const MeasuredPoint> points);

// |predicted - measured| / measured over the points that the prediction covers. Zeros without any.
struct PredictionErrors {
  size_t points = 0;
  double median = 0, ninth_decile = 0;
};
PredictionErrors errors_of(const MatMulPrediction& prediction, std::span<const MeasuredPoint> points);

// Errors of interpolation between token sizes. Points of sizes other than 1 to 8 and powers of two are interpolated
// from points of such sizes with the same rows and K. Points outside the measured sizes do not count.
PredictionErrors errors_between_sizes(std::span<const MeasuredPoint> points);

// Seconds for S tokens between two measured sizes. Within a kernel's token blocks and a cache's reach, time is close to
// linear in the tokens.
//
// sizes: rising, not empty. seconds(size) is called only for the sizes that are needed: S itself, or the two around it.
// Above the largest size the line through the last two continues (with one size: the line through zero). Below the
// smallest size, the time of the smallest holds.
double interpolate_tokens(std::span<const int64_t> sizes, int64_t S, const std::function<double(int64_t)>& seconds);

}  // namespace tandem
