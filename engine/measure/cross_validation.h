// How well prediction mode (H8) does on shapes that it has not seen: learn from one half of the measured shapes,
// predict the other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/plan/prediction/matmul_prediction.h"

namespace tandem {

// A shape is a weight format, K and a number of rows. Sorted, the first, third, ... are to learn from, with all their
// token counts; the second, fourth, ... are held out.
struct Halves {
  std::vector<MeasuredPoint> learnt, held_out;
  size_t learnt_shapes = 0, held_out_shapes = 0;
};
Halves halves_by_shape(std::span<const MeasuredPoint> points);

// |predicted - measured| / measured over those points that the prediction knows. Zeros without any.
struct PredictionErrors {
  size_t points = 0;
  double median = 0, ninth_decile = 0;
};
PredictionErrors errors_of(const MatMulPrediction& prediction, std::span<const MeasuredPoint> points);

// The same of interpolation: points of token sizes other than 1 to 8 and powers of two, from those of the same rows
// and K at such sizes. Points that no two measured ones enclose do not count.
PredictionErrors errors_between_sizes(std::span<const MeasuredPoint> points);

}  // namespace tandem
