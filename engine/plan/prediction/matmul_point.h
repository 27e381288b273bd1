// What the time of a matmul on one device depends on, and nothing else (H7, H8: kernels of one operator and shape take
// the same time in every layer): the unit in which times are measured, kept, interpolated and predicted.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/operator.h"

namespace tandem {

struct MatMulPoint {
  std::string format;  // of the packed weights: "i4.g32.half.min"; of 8-bit activations "i4.g32.half.min.act8"
  int64_t S = 0, K = 0;
  int64_t rows = 0;   // output rows that are computed; whole panels of 64 are read
  bool both = false;  // while another device reads memory too
  auto operator<=>(const MatMulPoint&) const = default;
};

MatMulPoint point_of(const MatMul& op, bool both = false);
std::string to_string(const MatMulPoint& point);  // "matmul i4.g32.half.min S8 K576 rows 1536", "... both"

bool is_packed_format(const std::string& name);
// Packed bytes of a weight, its scales and minima counted in. Error for a format that no packing has.
double bytes_per_weight(const std::string& format);

double weight_bytes(const MatMulPoint& point);  // of whole panels
double flops(const MatMulPoint& point);         // useful: 2 S K rows

// Seconds of one operator in several samples: medians for people, the least for planners, since whatever else the
// machine does only ever adds.
struct MeasuredSeconds {
  double median = 0, least = 0, most = 0;
  int samples = 0;
  double spread() const { return median > 0 ? (most - least) / median : 0; }
};

// Median, least and most of some samples. Zeros without any.
MeasuredSeconds spread_of(std::vector<double> seconds);

// Was the device slower than usual while this was measured? More tokens than are bound by memory take no longer than
// twice their half, and no longer than twice as many; a tenth is noise. Absent: not known. (A shared machine's core was
// slow for some hundred milliseconds: all samples of 128 tokens took 4.8 ms in place of 2.8, and half a prompt was
// planned by that.)
bool looks_slowed(double seconds, std::optional<double> at_half_the_tokens, std::optional<double> at_twice_the_tokens);

// A point and what was measured of it.
struct MeasuredPoint {
  MatMulPoint point;
  double seconds = 0;
};

}  // namespace tandem
