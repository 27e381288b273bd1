// A point: everything that the time of a matmul on one device depends on. Kernels of one operator and shape take the
// same time in every layer (H7, H8). So `tandem profile` and `tandem calibrate` measure and store times by point, and
// prediction mode learns from points. Plans use estimates from passes instead (engine/plan/prediction/device_rates.h).
// The estimates take only formats, sizes and bytes of matmuls from here.
//
// Contract: values and pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/operator.h"

namespace tandem {

struct MatMulPoint {
  std::string format;  // packed weights: "i4.g32.half.min"; with 8-bit activations "i4.g32.half.min.act8"
  int64_t S = 0, K = 0;
  int64_t rows = 0;   // output rows that are computed; whole panels of 64 rows are read
  bool both = false;  // another device reads memory too
  auto operator<=>(const MatMulPoint&) const = default;
};

MatMulPoint point_of(const MatMul& op, bool both = false);
std::string to_string(const MatMulPoint& point);  // "matmul i4.g32.half.min S8 K576 rows 1536", "... both"

bool is_packed_format(const std::string& name);
// Packed bytes of a weight, with its share of scales and minima. Error if no packing has the format.
double bytes_per_weight(const std::string& format);

double weight_bytes(const MatMulPoint& point);  // whole panels
double flops(const MatMulPoint& point);         // useful ones: 2 S K rows

// Seconds of one operator in several samples. Reports show the median. Fits use the least, since other work on the
// machine only adds time.
struct MeasuredSeconds {
  double median = 0, least = 0, most = 0;
  int samples = 0;
  double spread() const { return median > 0 ? (most - least) / median : 0; }
};

// Median, least and most of some samples; zeros without samples.
MeasuredSeconds spread_of(std::vector<double> seconds);

// Whether the device was slower than usual while this time was measured. For more tokens than are memory-bound, a time
// is at most twice that of half the tokens. It is also at most that of twice the tokens. A tenth counts as noise.
// Absent: no such time is known. Example: a shared machine's core was slow for some hundred milliseconds, so all
// samples of 128 tokens took 4.8 ms in place of 2.8. (Plans used measured points then, and half a prompt was planned by
// that time.)
bool looks_slowed(double seconds, std::optional<double> at_half_the_tokens, std::optional<double> at_twice_the_tokens);

// A point with its measured time.
struct MeasuredPoint {
  MatMulPoint point;
  double seconds = 0;
};

}  // namespace tandem
