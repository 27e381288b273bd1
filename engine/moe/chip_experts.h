// A chip from the view of a mixture's experts: time and energy of experts in static graphs on its NPU (N8, N10).
//
// Contract: plain values and pure functions; no thread or device is involved. Units: seconds, bytes, watts, joules; a
// multiplication and an addition count as two operations. Source: NPUMoE (arXiv:2604.18788), Table 5 for the law of a
// group. A chip's profile states the source of each number (engine/plan/model_clock/profiles).
#pragma once

#include <cstdint>
#include <span>

#include "engine/moe/expert_groups.h"
#include "engine/moe/residency.h"

namespace tandem {

struct ChipExperts {
  // A graph of the NPU holds a group of experts.
  double launch_seconds = 0, launch_joules = 0;
  // Each run of a graph reads its experts' weights. The CPU reads them for each chunk, at the same rate (assumed).
  double weight_bytes_per_second = 0, weight_byte_joules = 0;
  double flops = 0, flop_joules = 0;  // for all rows, padding included
  int64_t full_rate_rows = 0;         // C up to which that rate holds
  double beyond_rate_share = 0;       // (time of a row beyond it) / (time of a row below it) - 1
  int64_t graph_bytes = 0;            // largest weights of a graph; a larger graph runs on the CPU
  // For graphs that are submitted together. Each queue beyond the first adds `queue_gain` of a queue's speed, for
  // graphs of up to full_rate_rows. The time saved also saves static_watts.
  int64_t queues = 0;
  double queue_gain = 0, static_watts = 0;

  double attention_flops = 0, attention_watts = 0;  // projections and both products, on the NPU

  double cpu_flops = 0, cpu_attention_flops = 0, cpu_watts = 0;
  double naive_sync_seconds = 0;      // added to each graph if its launch was not planned
  double host_seconds_per_token = 0;  // for a layer: router, gather, scatter, sum; the paper's times leave it out
  // Load of that work, of launches and of their waits on the cores that compute experts: 0 to 1.
  double host_core_share = 0;
  double communication_watts = 0;  // while anything runs

  bool operator==(const ChipExperts&) const = default;
};

// The size of one expert in a graph: three matrices of 16-bit floats.
struct ExpertSize {
  int64_t hidden = 0, feed_forward = 0;  // H, I
  int64_t weight_bytes() const { return 3 * hidden * feed_forward * 2; }
  double row_flops() const { return 6.0 * static_cast<double>(hidden) * static_cast<double>(feed_forward); }
};

// Cost of one graph with `experts` experts and `rows` rows for each of them, when graphs run one after the other.
double graph_seconds(const ChipExperts& chip, const ExpertSize& size, int64_t experts, int64_t rows);
double graph_joules(const ChipExperts& chip, const ExpertSize& size, int64_t experts, int64_t rows);

// CPU time for `experts` experts that get `tokens` tokens in all.
double cpu_seconds(const ChipExperts& chip, const ExpertSize& size, int64_t experts, double tokens);

// Order of several graphs: one after the other, or submitted together to the chip's queues.
enum class GraphOrder : uint8_t { serial, together };
double graphs_seconds(const ChipExperts& chip, const ExpertSize& size, std::span<const ExpertGroup> groups,
                      GraphOrder order);
double graphs_joules(const ChipExperts& chip, const ExpertSize& size, std::span<const ExpertGroup> groups,
                     GraphOrder order);

// Speed-up of `graphs` equal graphs that are submitted together. They run in rounds of as many graphs as
// there are queues.
double together_gain(const ChipExperts& chip, int64_t graphs);

// N4: the costs that decide between NPU and CPU. They hold a copy of the chip.
ResidencyCosts residency_costs(const ChipExperts& chip, const ExpertSize& size);

}  // namespace tandem
