#include "engine/plan/prediction/device_rates.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/plan/prediction/matmul_point.h"

namespace tandem {
namespace {

// The cost of turning packed weights into numbers, in tokens that could be multiplied meanwhile (1.9 and 2.8 on
// PoCL, measured).
constexpr double kUnpackTokens = 2;
// Up to this number of tokens, reading its weights may limit a matmul.
constexpr int64_t kFewest = 8;

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

uint64_t up_to(int64_t count) { return std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, count))); }

// Each level's name begins with the name of the level above it, followed by a space. Only the levels below "all" do
// not. Exploration bonuses rely on these names (engine/plan/prediction/pooled_ratios.cpp). Depths below 128 count as 0.
std::vector<std::string> classes_of(const TimedOperator& timed) {
  const int64_t S = tokens_of(timed.op);
  const std::string tokens = " S" + std::to_string(up_to(S));
  std::string kind = kind_name(timed.op);
  std::vector<std::string> levels;
  levels.reserve(6);
  levels.insert(levels.end(), {"all", kind});
  if (const auto* matmul = std::get_if<MatMul>(&timed.op.body)) {
    const MatMulPoint point = point_of(*matmul);
    levels.push_back(kind += " " + point.format);
    levels.push_back(kind += tokens);
    if (S <= kFewest && timed.beside) levels.push_back(kind += " beside");
    levels.push_back(kind + " 4^" + std::to_string(static_cast<int>(std::log2(weight_bytes(point)) / 2)));
  } else {
    if (const auto* grouped = std::get_if<GroupedMatMul>(&timed.op.body))
      levels.push_back(kind += " " + to_string(grouped->w.format) + (grouped->act_i8 ? ".act8" : ""));
    const auto* attention = std::get_if<Attention>(&timed.op.body);
    if (attention != nullptr && attention->score.soft_cap > 0) levels.push_back(kind += " capped");
    levels.push_back(kind += tokens);
    if (attention != nullptr)
      levels.push_back(kind + " from " + std::to_string(timed.past < 128 ? 0 : up_to(timed.past)));
  }
  return levels;
}

// H13: a roofline with a launch. The slower of memory and arithmetic decides.
double prior_seconds(const PriorRates& rates, const TimedOperator& timed) {
  const Work work = work_of(timed);
  return rates.launch_seconds + std::max(work.bytes / rates.bytes_per_second, work.flops / rates.flops_per_second);
}

double DeviceRates::seconds(const TimedOperator& timed) const {
  return prior_seconds(prior_, timed) * ratios_.ratio(classes_of(timed));
}

// Learns the ratio to the formula instead of seconds, so that a sample of one shape helps the other shapes of
// its class.
void DeviceRates::learn(const TimedOperator& timed, double seconds, double weight) {
  ratios_.learn(classes_of(timed), seconds / prior_seconds(prior_, timed), weight);
}

}  // namespace tandem
