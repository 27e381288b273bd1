#include "engine/measure/roofline.h"

#include <algorithm>

#include "engine/plan/prediction/statistics.h"

namespace tandem {
namespace {

// Smallest offset of any attention's `positions`: there the positions of the pass begin, with its first token.
size_t first_positions_byte(std::span<const Step> steps) {
  size_t first = SIZE_MAX;
  for (const Step& step : steps) {
    for (const Operator& op : step.operators) {
      if (const auto* attention = std::get_if<Attention>(&op.body))
        first = std::min<size_t>(first, attention->positions.offset_bytes);
    }
  }
  return first;
}

}  // namespace

// Counts the bytes that a pass cannot avoid: weights and the cache. Operators that read neither are left out, with
// their arithmetic.
Work useful_work(std::span<const Step> steps, int64_t first_position) {
  const PassPositions pass{first_position, first_positions_byte(steps)};
  Work sum;
  for (const Step& step : steps) {
    for (const Operator& op : step.operators) {
      if (std::holds_alternative<KvAppend>(op.body)) continue;
      const Work each = work(op, past_of(op, pass).value_or(first_position));
      const double bytes = each.weight_bytes + each.cache_bytes;
      sum.bytes += bytes;
      if (bytes > 0) sum.flops += each.flops;
    }
  }
  return sum;
}

CorePeaks median_of(std::span<const CorePeaks> measured) {
  if (measured.empty()) return {};
  CorePeaks result;
  for (double CorePeaks::*figure : {&CorePeaks::fma_one_gflops, &CorePeaks::fma_all_gflops, &CorePeaks::read_one_gbps,
                                    &CorePeaks::read_all_gbps, &CorePeaks::int8_one_gops, &CorePeaks::int8_all_gops}) {
    std::vector<double> values;
    for (const CorePeaks& one : measured) values.push_back(one.*figure);
    result.*figure = median(std::move(values));
  }
  return result;
}

// Shares of the peaks of all cores together. A peak of 0 was not measured and gives no share.
RooflineShares against(const CorePeaks& peaks, const Work& work, double seconds) {
  RooflineShares shares;
  shares.gbps = work.bytes / seconds * 1e-9;
  shares.gflops = work.flops / seconds * 1e-9;
  if (peaks.read_all_gbps > 0) shares.read_share = shares.gbps / peaks.read_all_gbps;
  if (peaks.fma_all_gflops > 0) shares.fma_share = shares.gflops / peaks.fma_all_gflops;
  if (peaks.int8_all_gops > 0) shares.int8_share = shares.gflops / peaks.int8_all_gops;
  return shares;
}

}  // namespace tandem
