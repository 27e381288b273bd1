// NF18 to NF25: energy of a token.
#include <algorithm>

#include "bench/paper_npumoe/row.h"

namespace tandem::paper_npumoe {
namespace {

// The least and the largest energy of a token over the four settings.
std::pair<double, double> token_range(Lab& lab) {
  std::vector<double> all;
  for (const Setting& setting : printed_settings(kPhi)) all.push_back(millijoules_per_token(lab, setting));
  const auto [least, most] = std::ranges::minmax(all);
  return {least, most};
}

}  // namespace

// Energies were fitted to Table 5 and to the powers of Tables 6 and 7 alone, so all gains in whole runs are judged.
// NF25 repeats another row's range and is not.
void add_energy_rows(std::vector<Row>& rows) {
  const std::vector<Setting> all = printed_settings(kPhi), long_prompts{all[2], all[3]};
  const ExpertEngine cpu = ExpertEngine::cpu, naive = ExpertEngine::naive, anemll = ExpertEngine::anemll;
  const auto range = [&](const char* id, const std::string& what, const std::vector<Setting>& settings,
                         const std::vector<ExpertEngine>& baselines, double low, double high, const char* note = "") {
    add_gain_range(rows, {id, "energy, " + what, settings, baselines, low, high}, What::energy, Use::held_out, note);
  };
  range("NF18", "CPU over ours, all settings", all, {cpu}, 1.81, 3.19);
  range("NF18", "naive over ours, all settings", all, {naive}, 4.71, 7.37);
  range("NF18", "anemll over ours, all settings", all, {anemll}, 1.86, 3.43);
  add_three_gains(rows, "energy", {"NF19", all[1], 3.19, 7.37, 3.43}, What::energy, Use::held_out, "");
  range("NF20", "all baselines, P 1024, C 256", {all[0]}, kBaselines, 2.01, 6.30);
  range("NF21", "naive over ours, P 4096", long_prompts, {naive}, 4.71, 5.23);
  range("NF21", "CPU over ours, P 4096", long_prompts, {cpu}, 1.81, 2.30);
  range("NF21", "anemll over ours, P 4096", long_prompts, {anemll}, 1.86, 2.49);
  range("NF22", "all baselines, P 4096, C 1024", {all[3]}, kBaselines, 2.30, 5.23);
  const char* token = "experts' graphs alone are 60 to 71 mJ by Table 5";
  rows.push_back({"NF23", "ours, least of all settings", "mJ/token", 52, 52, Use::held_out, Kind::absolute,
                  [](Lab& lab) { return token_range(lab).first; }, token});
  rows.push_back({"NF23", "ours, largest of all settings", "mJ/token", 137, 137, Use::held_out, Kind::absolute,
                  [](Lab& lab) { return token_range(lab).second; }, token});
  add_gain_range(rows, {"NF24", "communication's energy, naive over ours, all settings", all, {naive}, 4.44, 5.69},
                 What::communication, Use::held_out, "");
  for (const auto& [engine, printed] : {std::pair{naive, 3.89}, {cpu, 1.84}, {anemll, 1.95}}) {
    rows.push_back({"NF25",
                    "energy end to end with 8 decode steps, most, " + std::string(name_of(engine)) + " over ours", "x",
                    printed, printed, Use::conflict, Kind::ratio,
                    [engine = engine](Lab& lab) {
                      double most = 0;
                      for (const Setting& setting : printed_settings(kPhi))
                        most = std::max(most, gain_end_to_end(lab, setting, engine, What::energy, 0.8));
                      return most;
                    },
                    "the same range is printed for Qwen3's prefill (NF10)"});
  }
}

}  // namespace tandem::paper_npumoe
