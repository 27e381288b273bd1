// NF26 to NF30: cycles of the CPU.
#include <algorithm>

#include "bench/paper_npumoe/row.h"

namespace tandem::paper_npumoe {
namespace {

// The least and the largest gain over the four settings, with decoding.
std::pair<double, double> end_to_end(Lab& lab, ExpertEngine baseline) {
  std::vector<double> all;
  for (const Setting& setting : printed_settings(kPhi))
    all.push_back(gain_end_to_end(lab, setting, baseline, What::cpu_time, 0.7));
  const auto [least, most] = std::ranges::minmax(all);
  return {least, most};
}

}  // namespace

// One number of NF26 fixes the host's share of a core. All other cycles are judged.
void add_cpu_rows(std::vector<Row>& rows) {
  const std::vector<Setting> at = printed_settings(kPhi);
  const char* what = "CPU cycles";
  const size_t first = rows.size();
  add_three_gains(rows, what, {"NF26", at[0], 3.78, 3.61, 2.98}, What::cpu_time, Use::held_out, "");
  rows[first].use = Use::calibration;
  rows[first].note = "fixes how many cores router, gather and scatter keep busy";
  add_three_gains(rows, what, {"NF27", at[1], 2.45, 3.20, 1.78}, What::cpu_time, Use::held_out, "");
  const auto range = [&](const char* id, const Setting& setting, double low, double high, const char* note) {
    add_gain_range(rows, {id, "CPU cycles, all baselines, " + setting_text(setting), {setting}, kBaselines, low, high},
                   What::cpu_time, Use::held_out, note);
  };
  range("NF28", at[2], 2.09, 3.70, "printed for C 256, which P 4096 was not run with");
  range("NF29", at[3], 2.21, 5.54, "printed for C 512, and in section 5.8 for C 1024");
  const char* decoding = "decoding as NF1 has it: 30 % of the CPU engine's cycles, alike for all";
  for (const auto& [engine, low, high] : {std::tuple{ExpertEngine::cpu, 2.64, 3.75},
                                          {ExpertEngine::naive, 3.17, 4.67},
                                          {ExpertEngine::anemll, 2.01, 2.99}}) {
    const std::string name = "CPU cycles end to end, " + std::string(name_of(engine)) + " over ours";
    rows.push_back({"NF30", name + ", least", "x", low, low, Use::held_out, Kind::ratio,
                    [engine = engine](Lab& lab) { return end_to_end(lab, engine).first; }, decoding});
    rows.push_back({"NF30", name + ", largest", "x", high, high, Use::held_out, Kind::ratio,
                    [engine = engine](Lab& lab) { return end_to_end(lab, engine).second; }, decoding});
  }
}

}  // namespace tandem::paper_npumoe
