// NF1 to NF10: the paper's motive, its worked examples, and its headlines.
#include <array>

#include "bench/paper_npumoe/row.h"
#include "engine/moe/capacity_tiers.h"

namespace tandem::paper_npumoe {
namespace {

// NF5: the share of launching and waiting in the naive engine's block, software included.
double dispatch_share(Lab& lab) {
  const ExpertTimes& times = lab.prefill(kTable4, ExpertEngine::naive);
  const auto layers = static_cast<double>(lab.routing(kPhi).shape.layers);
  return times.dispatch_seconds / (times.expert_seconds + layers * host_ms_of_a_layer(lab) * 1e-3);
}

// The worked example of padding: a graph of four experts with room for 64 tokens each.
double padded_of_the_example() {
  const std::array groups{ExpertGroup{64, {0, 1, 2, 3}}};
  return slot_use(groups, std::array<int64_t, 4>{64, 32, 32, 0}).padded_share();
}

}  // namespace

// Numbers that the paper opens with. Its ranges over all settings repeat rows below, so they are not judged twice.
void add_motive_rows(std::vector<Row>& rows) {
  const auto later = "prefill and 8 decode steps: an input of the end-to-end rows";
  rows.push_back(
      {"NF1", "prefill's share of latency and of CPU cycles", "", 0.70, 0.80, Use::input, Kind::ratio, {}, later});
  rows.push_back(Row::not_predicted("NF2", "imbalance r_l", "", 1, 1, "curves without numbers"));
  rows.push_back(
      Row::not_predicted("NF3", "NPU over CPU, dense matmuls", "x", 1.4, 2.3, "shapes and values are not printed"));
  rows.push_back(Row::not_predicted("NF4", "synchronisation, CPU only and CPU with NPU", "s", 1.45, 2.66,
                                    "the workload is not printed"));
  rows.push_back({"NF5", "launching and waiting, share of the naive block", "", 0.6, 1, Use::shared, Kind::ratio,
                  dispatch_share,
                  "says that the naive engine computes no more rows than the others: it launches and waits"});
  rows.push_back({"NF6", "capacity of the busiest expert, B 256, E 8, r 2", "tokens", 64, 64, Use::held_out,
                  Kind::exact, [](Lab&) { return static_cast<double>(tier_capacities(8, 1, 256, {}).front()); },
                  "worked example"});
  rows.push_back({"NF7", "padded share, loads 64, 32, 32, 0 in slices of 64", "", 0.5, 0.5, Use::held_out, Kind::exact,
                  [](Lab&) { return padded_of_the_example(); }, "worked example; the share is inferred"});
  const auto all = printed_settings(kPhi);
  const char* repeats = "the range of rows below";
  add_gain_range(rows, {"NF8", "latency, all baselines, settings", all, kBaselines, 1.32, 5.55}, What::latency,
                 Use::derived, repeats);
  add_gain_range(rows, {"NF8", "energy, all baselines, settings", all, kBaselines, 1.81, 7.37}, What::energy,
                 Use::derived, repeats);
  add_gain_range(rows, {"NF8", "CPU cycles, all baselines, settings", all, kBaselines, 1.78, 5.54}, What::cpu_time,
                 Use::derived, repeats);
  const char* tiny = "P and C are not printed: those of PhiMoE; M2 Max, of which only ratios to the Ultra are assumed";
  add_gain_range(rows, {"NF9", "Phi-tiny-MoE, latency", printed_settings(kTiny), kBaselines, 1.11, 1.87}, What::latency,
                 Use::held_out, tiny);
  add_gain_range(rows, {"NF9", "Phi-tiny-MoE, energy", printed_settings(kTiny), kBaselines, 1.70, 2.68}, What::energy,
                 Use::held_out, tiny);
  const char* qwen = "P and C are not printed: those of PhiMoE";
  add_gain_range(rows, {"NF10", "Qwen3-30B-A3B, latency", printed_settings(kQwen), kBaselines, 1.19, 3.86},
                 What::latency, Use::held_out, qwen);
  add_gain_range(rows, {"NF10", "Qwen3-30B-A3B, energy", printed_settings(kQwen), kBaselines, 1.84, 3.89}, What::energy,
                 Use::held_out, qwen);
}

}  // namespace tandem::paper_npumoe
