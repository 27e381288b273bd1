// A chip as the experts of a mixture see it, and the time and energy of experts in static graphs on its NPU (N8, N10).
//
// Contract: plain values and pure functions; no thread or device is involved. Seconds, bytes, watts, joules; operations
// are multiplications and additions, counted as two. Source: NPUMoE (arXiv:2604.18788), Table 5 for the law of a group;
// where each number of a chip is from stands beside it in its profile (engine/plan/model_clock/profiles).
#pragma once

#include <cstdint>
#include <span>

#include "engine/moe/expert_groups.h"
#include "engine/moe/residency.h"

namespace tandem {

struct ChipExperts {
  // A graph of the NPU, which holds a group of experts.
  double launch_seconds = 0, launch_joules = 0;
  // Each run of a graph reads its experts' weights; so does the CPU for each chunk, at the same rate (assumed).
  double weight_bytes_per_second = 0, weight_byte_joules = 0;
  double flops = 0, flop_joules = 0;  // of the rows, padding included
  int64_t full_rate_rows = 0;         // C up to which that rate holds
  double beyond_rate_share = 0;       // time of a row beyond it over the time of a row below it, less 1
  int64_t graph_bytes = 0;            // of weights; a larger graph runs on the CPU
  // Graphs that were submitted together: each queue beyond the first adds `queue_gain` of a queue's speed, in graphs of
  // up to full_rate_rows. Less time saves static_watts for as long as it is less.
  int64_t queues = 0;
  double queue_gain = 0, static_watts = 0;

  double attention_flops = 0, attention_watts = 0;  // projections and both products, on the NPU

  double cpu_flops = 0, cpu_attention_flops = 0, cpu_watts = 0;
  double naive_sync_seconds = 0;      // more, for each graph, where nobody planned its launch
  double host_seconds_per_token = 0;  // of a layer: router, gather, scatter, sum. The paper's times leave it out
  // How busy that, launches and their waits keep the CPU, of the cores that compute experts there: 0 to 1.
  double host_core_share = 0;
  double communication_watts = 0;  // while anything runs

  bool operator==(const ChipExperts&) const = default;
};

// One expert as graphs have it: its three matrices, 16-bit floats.
struct ExpertSize {
  int64_t hidden = 0, feed_forward = 0;  // H, I
  int64_t weight_bytes() const { return 3 * hidden * feed_forward * 2; }
  double row_flops() const { return 6.0 * static_cast<double>(hidden) * static_cast<double>(feed_forward); }
};

// Of one graph with `experts` experts and `rows` rows for each of them; in turn with others, not beside them.
double graph_seconds(const ChipExperts& chip, const ExpertSize& size, int64_t experts, int64_t rows);
double graph_joules(const ChipExperts& chip, const ExpertSize& size, int64_t experts, int64_t rows);

// Of the CPU: `experts` experts that `tokens` tokens in all go to.
double cpu_seconds(const ChipExperts& chip, const ExpertSize& size, int64_t experts, double tokens);

// Several graphs: one after the other, or submitted together to the chip's queues.
enum class GraphOrder : uint8_t { serial, together };
double graphs_seconds(const ChipExperts& chip, const ExpertSize& size, std::span<const ExpertGroup> groups,
                      GraphOrder order);
double graphs_joules(const ChipExperts& chip, const ExpertSize& size, std::span<const ExpertGroup> groups,
                     GraphOrder order);

// How much sooner `graphs` equal graphs end that are submitted together: rounds of as many as there are queues.
double together_gain(const ChipExperts& chip, int64_t graphs);

// N4: what the choice between NPU and CPU weighs. The costs hold a copy of the chip.
ResidencyCosts residency_costs(const ChipExperts& chip, const ExpertSize& size);

}  // namespace tandem
