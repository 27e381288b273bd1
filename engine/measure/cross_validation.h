// How well prediction mode (H8) does on shapes that it has not seen: learn from one half of the measured shapes,
// predict the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

// A time at a number of tokens between two measured ones: within a kernel's token blocks and a cache's reach, time is
// close to linear in the tokens.
//
// sizes: rising, not empty. seconds(size) is asked for the sizes that are needed only: the one that S is, or the two
// around it. Above the largest size the line through the last two goes on (through zero with one size); below the
// smallest, the smallest holds.
double interpolate_tokens(std::span<const int64_t> sizes, int64_t S, const std::function<double(int64_t)>& seconds);

}  // namespace tandem
