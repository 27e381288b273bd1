#include "engine/device/gpu/roofline.h"

#include <algorithm>

namespace tandem::gpu {

// The fields are FLOP/s, bytes/s, seconds of a kernel's launch, and watts. A driver that reports no clock gets 1 GHz.
Roofline roofline(bool cpu, int compute_units, double clock_hz) {
  const double units = std::max(1, compute_units), clock = clock_hz > 0 ? clock_hz : 1e9;
  if (cpu) return {units * clock * 64 * 0.85, units * 25e9, 0.6e-6, units * 8};
  return {units * clock * 128 * 2 * 0.5, units * 12e9, 5e-6, units * 1.5};
}

// An operator takes as long as the slower of its arithmetic and its traffic, plus its launch. Operators run one after
// the other, so their times add up.
Cost cost(const Roofline& rates, std::span<const Operator> operators) {
  Cost sum;
  for (const Operator& op : operators) {
    const Work w = work(op);
    sum.seconds += std::max(w.flops / rates.flops_per_second, w.bytes / rates.bytes_per_second) + rates.kernel_seconds;
    sum.flops += w.flops;
    sum.bytes += w.bytes;
  }
  sum.joules = sum.seconds * rates.watts;
  return sum;
}

}  // namespace tandem::gpu
