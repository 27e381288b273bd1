#include "engine/plan/prediction/device_rates.h"

#include <algorithm>

#include "engine/plan/prediction/matmul_point.h"

namespace tandem {
namespace {

// The cost of turning packed weights into numbers, in tokens that could be multiplied meanwhile (1.9 and 2.8 on
// PoCL, measured).
constexpr double kUnpackTokens = 2;

// flops and bytes for the formula. A matmul counts the bytes of its weights, and an attention those of its KV cache.
// Other operators count all bytes.
Work work_of(const TimedOperator& timed) {
  if (const auto* matmul = std::get_if<MatMul>(&timed.op.body)) {
    const MatMulPoint point = point_of(*matmul);
    const double rows = static_cast<double>(panel_count(point.rows) * kPanelRows);
    return {2 * static_cast<double>(point.K) * rows * (static_cast<double>(point.S) + kUnpackTokens),
            weight_bytes(point)};
  }
  const Work all = work(timed.op, timed.past);
  const bool reads_cache = std::holds_alternative<Attention>(timed.op.body) && all.cache_bytes > 0;
  return {all.flops, reads_cache ? all.cache_bytes : all.bytes};
}

}  // namespace

// H13: a roofline with a launch. The slower of memory and arithmetic decides.
double prior_seconds(const PriorRates& rates, const TimedOperator& timed) {
  const Work work = work_of(timed);
  return rates.launch_seconds + std::max(work.bytes / rates.bytes_per_second, work.flops / rates.flops_per_second);
}

double DeviceRates::seconds(const TimedOperator& timed) const {
  return prior_seconds(prior_, timed) * ratios_.ratio(class_of(timed));
}

// Learns the ratio to the formula instead of seconds, so that a sample of one shape helps the other shapes of
// its class.
void DeviceRates::learn(const TimedOperator& timed, double seconds, double weight) {
  ratios_.learn(class_of(timed), seconds / prior_seconds(prior_, timed), weight);
}

}  // namespace tandem
