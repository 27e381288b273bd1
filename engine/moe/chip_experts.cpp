// Times and energies of experts on a described chip, by formulas. Seconds and joules are for one layer and one chunk.
#include "engine/moe/chip_experts.h"

#include <algorithm>
#include <numeric>

namespace tandem {
namespace {

// Weights are read once for each expert, whatever the number of its rows.
double weight_seconds(const ChipExperts& chip, const ExpertSize& size) {
  return static_cast<double>(size.weight_bytes()) / chip.weight_bytes_per_second;
}

// Everything of a graph except its launch. N8: rows beyond the full rate take longer.
double work_seconds(const ChipExperts& chip, const ExpertSize& size, int64_t experts, int64_t rows) {
  const double beyond = static_cast<double>(std::max<int64_t>(0, rows - chip.full_rate_rows)) * chip.beyond_rate_share;
  const double each = weight_seconds(chip, size) + (static_cast<double>(rows) + beyond) * size.row_flops() / chip.flops;
  return static_cast<double>(experts) * each;
}

// Groups within this size share the queues of the chip, and wider ones fill it alone (N8).
bool at_full_rate(const ChipExperts& chip, const ExpertGroup& group) { return group.capacity <= chip.full_rate_rows; }

int64_t experts_of(const ExpertGroup& group) { return static_cast<int64_t>(group.experts.size()); }

template <typename Cost>
double sum_over(std::span<const ExpertGroup> groups, const Cost& cost) {
  return std::transform_reduce(groups.begin(), groups.end(), 0.0, std::plus<>(), cost);
}

}  // namespace

// Every graph pays for one launch, however many experts it holds. Groups of experts share this cost (N3).
double graph_seconds(const ChipExperts& chip, const ExpertSize& size, int64_t experts, int64_t rows) {
  return chip.launch_seconds + work_seconds(chip, size, experts, rows);
}

// Energy of the launch, of reading the weights, and of all rows, padding included.
double graph_joules(const ChipExperts& chip, const ExpertSize& size, int64_t experts, int64_t rows) {
  const double each = static_cast<double>(size.weight_bytes()) * chip.weight_byte_joules +
                      static_cast<double>(rows) * size.row_flops() * chip.flop_joules;
  return chip.launch_joules + static_cast<double>(experts) * each;
}

// The CPU reads every expert's weights once, then computes the tokens' rows.
double cpu_seconds(const ChipExperts& chip, const ExpertSize& size, int64_t experts, double tokens) {
  return static_cast<double>(experts) * weight_seconds(chip, size) + tokens * size.row_flops() / chip.cpu_flops;
}

// A full round has the speed of all queues, the last round that of its graphs.
double together_gain(const ChipExperts& chip, int64_t graphs) {
  const auto speed = [&](int64_t beside) { return 1 + static_cast<double>(beside - 1) * chip.queue_gain; };
  const int64_t whole_rounds = graphs / chip.queues, left = graphs % chip.queues;
  const double rounds = static_cast<double>(whole_rounds * chip.queues) / speed(chip.queues) +
                        (left > 0 ? static_cast<double>(left) / speed(left) : 0);
  return rounds > 0 ? static_cast<double>(graphs) / rounds : 1;
}

// Together, only graphs at the full rate run faster. Wider graphs take as long as alone.
double graphs_seconds(const ChipExperts& chip, const ExpertSize& size, std::span<const ExpertGroup> groups,
                      GraphOrder order) {
  const auto seconds = [&](const ExpertGroup& group) {
    return graph_seconds(chip, size, experts_of(group), group.capacity);
  };
  if (order == GraphOrder::serial) return sum_over(groups, seconds);
  const auto beside = std::ranges::count_if(groups, [&](const auto& group) { return at_full_rate(chip, group); });
  const double gain = together_gain(chip, beside);
  return sum_over(groups,
                  [&](const ExpertGroup& group) { return seconds(group) / (at_full_rate(chip, group) ? gain : 1); });
}

// Running together needs the same work, but the static power is drawn for a shorter time.
double graphs_joules(const ChipExperts& chip, const ExpertSize& size, std::span<const ExpertGroup> groups,
                     GraphOrder order) {
  const double joules = sum_over(
      groups, [&](const ExpertGroup& group) { return graph_joules(chip, size, experts_of(group), group.capacity); });
  const double saved =
      graphs_seconds(chip, size, groups, GraphOrder::serial) - graphs_seconds(chip, size, groups, order);
  return joules - chip.static_watts * saved;
}

// The launch is separate from npu_seconds, because residency adds it for each group.
ResidencyCosts residency_costs(const ChipExperts& chip, const ExpertSize& size) {
  return {chip.launch_seconds,
          [chip, size](int64_t slots, int64_t experts) {
            return experts == 0 ? 0 : work_seconds(chip, size, experts, slots / experts);
          },
          [chip, size](double tokens, int64_t experts) { return cpu_seconds(chip, size, experts, tokens); }};
}

}  // namespace tandem
