// NF11 to NF17: time to the first token.
#include <algorithm>

#include "bench/paper_npumoe/row.h"

namespace tandem::paper_npumoe {
namespace {

// 1 if our engine is the fastest and the naive engine the slowest.
double in_order(Lab& lab, const Setting& setting) {
  const auto seconds = [&](ExpertEngine engine) { return lab.prefill(setting, engine).seconds(); };
  const double ours = seconds(ExpertEngine::ours), naive = seconds(ExpertEngine::naive);
  const double cpu = seconds(ExpertEngine::cpu), anemll = seconds(ExpertEngine::anemll);
  return ours < std::min(cpu, anemll) && std::max(cpu, anemll) < naive ? 1 : 0;
}

// 1 if the gain over the baseline changes in the printed direction from the first setting to the second.
double goes(Lab& lab, ExpertEngine baseline, const Setting& from, const Setting& to, bool up) {
  return (gain(lab, to, baseline, What::latency) > gain(lab, from, baseline, What::latency)) == up ? 1 : 0;
}

// A trend compares one baseline's gain in two settings.
struct Trend {
  Setting from, to;
  ExpertEngine baseline;
  bool up;
};

}  // namespace

// Gains in the four settings, the order of the engines, and trends from setting to setting. Two numbers fix the rates
// of attention and are not judged.
void add_latency_rows(std::vector<Row>& rows) {
  const std::vector<Setting> at = printed_settings(kPhi);
  const char* what = "time to the first token";
  add_three_gains(rows, what, {"NF11", at[0], 2.07, 5.55, 1.95}, What::latency, Use::shared,
                  "says that attention and experts make up the time, without scatter and residual");
  add_three_gains(rows, what, {"NF12", at[1], 1.32, 3.44, 1.33}, What::latency, Use::held_out, "");
  add_three_gains(rows, what, {"NF13", at[2], 1.58, 3.85, 1.50}, What::latency, Use::held_out, "");
  add_three_gains(rows, what, {"NF14", at[3], 1.72, 3.70, 1.56}, What::latency, Use::held_out,
                  "section 5.8 prints the range 1.44 to 3.70 for it");
  for (const auto& [id, setting] : {std::pair{"NF11", at[0]}, {"NF12", at[1]}, {"NF13", at[2]}, {"NF14", at[3]}}) {
    rows.push_back({id, "order: ours, then CPU and anemll, then naive, " + setting_text(setting), "yes", 1, 1,
                    Use::held_out, Kind::exact, [setting = setting](Lab& lab) { return in_order(lab, setting); }, ""});
  }
  const ExpertEngine cpu = ExpertEngine::cpu, naive = ExpertEngine::naive, anemll = ExpertEngine::anemll;
  for (const Trend& t : {Trend{at[0], at[1], cpu, false},
                         {at[0], at[1], naive, false},
                         {at[0], at[1], anemll, false},
                         {at[2], at[3], cpu, true},
                         {at[2], at[3], naive, false},
                         {at[2], at[3], anemll, true}}) {
    const std::string name(name_of(t.baseline));
    rows.push_back({t.from.prompt == 1024 ? "NF12" : "NF14",
                    "trend: the gain over " + name + (t.up ? " grows" : " falls") + " from C " +
                        std::to_string(t.from.chunk) + " to " + std::to_string(t.to.chunk),
                    "yes", 1, 1, Use::held_out, Kind::exact,
                    [t](Lab& lab) { return goes(lab, t.baseline, t.from, t.to, t.up); }, ""});
  }
  rows.push_back({"NF15", "experts' share of ours, P 1024, C 256", "", 0.86, 0.86, Use::calibration, Kind::ratio,
                  expert_share, "fixes the NPU's attention; printed as more than 86 %, engine and setting not said"});
  rows.push_back({"NF16", "attention on the NPU over the CPU", "x", 1.276, 1.276, Use::calibration, Kind::ratio,
                  [](Lab& lab) { return lab.chip().cpu_attention_flops / lab.chip().attention_flops; },
                  "fixes the CPU's attention; the direction is not said, Table 6 has the NPU faster"});
  for (const auto& [engine, printed] : {std::pair{naive, 3.86}, {cpu, 1.26}, {anemll, 1.19}}) {
    rows.push_back({"NF17", "end to end with 8 decode steps, most, " + std::string(name_of(engine)) + " over ours", "x",
                    printed, printed, Use::conflict, Kind::ratio,
                    [engine = engine](Lab& lab) {
                      double most = 0;
                      for (const Setting& setting : printed_settings(kPhi))
                        most = std::max(most, gain_end_to_end(lab, setting, engine, What::latency, 0.8));
                      return most;
                    },
                    "the same range is printed for Qwen3's prefill (NF10)"});
  }
}

}  // namespace tandem::paper_npumoe
