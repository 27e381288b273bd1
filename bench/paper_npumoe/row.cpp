#include "bench/paper_npumoe/row.h"

#include <utility>

namespace tandem::paper_npumoe {

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto add : {add_motive_rows, add_latency_rows, add_energy_rows, add_cpu_rows, add_routing_rows,
                         add_block_rows, add_group_rows, add_variant_rows}) {
    add(rows);
  }
  return paper::in_papers_order(std::move(rows));
}

// Three baselines in one setting make three rows.
void add_three_gains(std::vector<Row>& rows, const char* what, const ThreeGains& printed, What quantity, Use use,
                     const char* note) {
  for (const auto& [engine, value] : {std::pair{ExpertEngine::cpu, printed.cpu},
                                      {ExpertEngine::naive, printed.naive},
                                      {ExpertEngine::anemll, printed.anemll}}) {
    rows.push_back(
        {printed.id,
         std::string(what) + ", " + std::string(name_of(engine)) + " over ours, " + setting_text(printed.setting), "x",
         value, value, use, Kind::ratio,
         [engine = engine, setting = printed.setting, quantity](Lab& lab) {
           return gain(lab, setting, engine, quantity);
         },
         note});
  }
}

// A printed range becomes two rows, for its ends.
void add_gain_range(std::vector<Row>& rows, const GainRange& printed, What quantity, Use use, const char* note) {
  const auto ends = [settings = printed.settings, baselines = printed.baselines, quantity](Lab& lab) {
    return gains(lab, settings, baselines, quantity);
  };
  rows.push_back({printed.id, printed.what + ", least", "x", printed.low, printed.low, use, Kind::ratio,
                  [ends](Lab& lab) { return ends(lab).first; }, note});
  rows.push_back({printed.id, printed.what + ", largest", "x", printed.high, printed.high, use, Kind::ratio,
                  [ends](Lab& lab) { return ends(lab).second; }, note});
}

}  // namespace tandem::paper_npumoe
