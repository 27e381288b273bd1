// The rows of the NPUMoE paper on the model clock.
//
// Contract: bench/paper/row.h. A row of several numbers becomes several rows with one id. If many settings make a
//   range, its smallest and its largest value are rows of their own.
#pragma once

#include <vector>

#include "bench/paper/row.h"
#include "bench/paper_npumoe/quantities.h"

namespace tandem::paper_npumoe {

using paper::Kind;
using paper::Result;
using paper::Use;
using Row = paper::RowFor<Lab>;

// The bars of ratios and of absolute values are equal.
inline constexpr paper::Bars kBars{0.15, 0.15, true};

std::vector<Row> all_rows();                    // in the paper's order
void add_motive_rows(std::vector<Row>& rows);   // NF1 to NF10: motive, examples, headlines
void add_latency_rows(std::vector<Row>& rows);  // NF11 to NF17: time to the first token
void add_energy_rows(std::vector<Row>& rows);   // NF18 to NF25
void add_cpu_rows(std::vector<Row>& rows);      // NF26 to NF30: cycles of the CPU
void add_routing_rows(std::vector<Row>& rows);  // NF31 to NF37: drop and padding
void add_block_rows(std::vector<Row>& rows);    // NF38 to NF42: Table 4
void add_group_rows(std::vector<Row>& rows);    // NF43 to NF49: Table 5
void add_variant_rows(std::vector<Row>& rows);  // NF50 to NF59: ablation, overlap, GPU, Qwen3

// A text that several files of rows use.
inline std::string setting_text(const Setting& setting) {
  return "P " + std::to_string(setting.prompt) + ", C " + std::to_string(setting.chunk);
}
// The gains of our engine in one setting: over the CPU, the naive engine and ANEMLL.
struct ThreeGains {
  const char* id;
  Setting setting;
  double cpu, naive, anemll;
};
void add_three_gains(std::vector<Row>& rows, const char* what, const ThreeGains& printed, What quantity, Use use,
                     const char* note);
// The two ends of a range of gains over several settings and baselines.
struct GainRange {
  const char* id;
  std::string what;
  std::vector<Setting> settings;
  std::vector<ExpertEngine> baselines;
  double low, high;
};
void add_gain_range(std::vector<Row>& rows, const GainRange& printed, What quantity, Use use, const char* note);

inline const std::vector<ExpertEngine> kBaselines{ExpertEngine::cpu, ExpertEngine::naive, ExpertEngine::anemll};

}  // namespace tandem::paper_npumoe
