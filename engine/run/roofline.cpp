#include "engine/run/roofline.h"

#include <algorithm>

#include "engine/plan/attention_cut.h"
#include "engine/plan/statistics.h"
#include "engine/tensor/packed.h"

namespace tandem {
namespace {

Work of_matmul(const MatMul& op) {
  const size_t bytes =
      packed_bytes(op.w.format, op.row_end, op.K) - packed_bytes(op.w.format, op.row_begin, op.K);  // whole panels
  const double flops =
      2.0 * static_cast<double>(op.S) * static_cast<double>(op.K) * static_cast<double>(op.row_end - op.row_begin);
  return {flops, static_cast<double>(bytes)};
}

Work of_embed(const Embed& op) {
  const double row_bytes = static_cast<double>(panel_bytes(op.w.format, op.w.columns)) / kPanelRows;
  return {0, static_cast<double>(op.S) * row_bytes};
}

}  // namespace

Work attention_work(const Attention& op, int64_t first_position) {
  const KvCache& cache = op.cache;
  const SeenPositions seen = seen_positions(op, first_position);
  const double values = static_cast<double>(cache.head_dim + cache.head_dim_v);
  return {2.0 * static_cast<double>(op.heads) * values * seen.pairs,
          seen.positions * static_cast<double>(cache.kv_heads) * values * static_cast<double>(cache.element_bytes())};
}

namespace {

// Where the pass's own positions begin: its first token is some operator's first.
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

Work useful_work(std::span<const Step> steps, int64_t first_position) {
  const size_t first_byte = first_positions_byte(steps);
  Work sum;
  const auto add = [&sum](const Work& work) {
    sum.flops += work.flops;
    sum.bytes += work.bytes;
  };
  for (const Step& step : steps) {
    for (const Operator& op : step.operators) {
      if (const auto* matmul = std::get_if<MatMul>(&op.body)) add(of_matmul(*matmul));
      if (const auto* embed = std::get_if<Embed>(&op.body)) add(of_embed(*embed));
      if (const auto* attention = std::get_if<Attention>(&op.body)) {
        const size_t before = (attention->positions.offset_bytes - first_byte) / sizeof(int32_t);
        add(attention_work(*attention, first_position + static_cast<int64_t>(before)));
      }
    }
  }
  return sum;
}

CorePeaks median_of(std::span<const CorePeaks> measured) {
  if (measured.empty()) return {};
  CorePeaks result;
  for (double CorePeaks::*figure :
       {&CorePeaks::fma_one_gflops, &CorePeaks::fma_all_gflops, &CorePeaks::read_one_gbps, &CorePeaks::read_all_gbps}) {
    std::vector<double> values;
    for (const CorePeaks& one : measured) values.push_back(one.*figure);
    result.*figure = median(std::move(values));
  }
  return result;
}

RooflineShares against(const CorePeaks& peaks, const Work& work, double seconds) {
  RooflineShares shares;
  shares.gbps = work.bytes / seconds * 1e-9;
  shares.gflops = work.flops / seconds * 1e-9;
  if (peaks.read_all_gbps > 0) shares.read_share = shares.gbps / peaks.read_all_gbps;
  if (peaks.fma_all_gflops > 0) shares.fma_share = shares.gflops / peaks.fma_all_gflops;
  return shares;
}

}  // namespace tandem
