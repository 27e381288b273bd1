// SF14 to SF18: worked examples of the parts, and their overheads.
#include <algorithm>

#include "bench/paper_sdnpu/row.h"
#include "bench/paper_sdnpu/worked.h"

namespace tandem::paper_sdnpu {
namespace {

// Table 2's classes: how many rejected drafts there are of each, and their share.
void add_class(std::vector<Row>& rows, Rejection rejection, double drafts, double percent) {
  const std::string name = to_string(rejection);
  rows.push_back({"SF14", name + ", of 13 rejected drafts", "drafts", drafts, drafts, Use::held_out, Kind::exact,
                  [rejection](Lab&) { return static_cast<double>(drafts_of_table2(rejection)); },
                  "a worked case of engine/draft/reuse.h"});
  rows.push_back(
      {"SF14", name + ", share", "%", percent, percent, Use::derived, Kind::absolute,
       [rejection](Lab&) { return 100.0 * static_cast<double>(drafts_of_table2(rejection)) / kDraftsOfTable2; },
       "of the worked case"});
}

// Fig. 8's switch by the engine's own schedule.
Row of_fig8(const std::string& what, double printed, const char* unit, double (*value)(const SwitchSchedule&)) {
  return {"SF15",
          what,
          unit,
          printed,
          printed,
          Use::held_out,
          Kind::exact,
          [value](Lab&) { return value(schedule_of_fig8()); },
          "engine/plan/graph_switch.h"};
}

// SF17: the part of a pass's token that the output matrix has.
double output_matrix_ms(Lab& lab) {
  const PassSize& size = lab.size(kQwen15);
  return 1e3 * lab.line(Phone::redmi_k60, kQwen15).token_seconds * static_cast<double>(size.output_weights) /
         static_cast<double>(size.weights());
}

}  // namespace

// The worked examples run the engine's own code, so they would show a wrong rule at once.
void add_part_rows(std::vector<Row>& rows) {
  add_class(rows, Rejection::missing, 2, 15.4);
  add_class(rows, Rejection::synonym, 3, 23.1);
  add_class(rows, Rejection::redundant, 8, 61.5);
  rows.push_back(of_fig8("blocks switched behind chunk 1", 3, "blocks",
                         [](const SwitchSchedule& s) { return static_cast<double>(s.switched.at(0)); }));
  rows.push_back(of_fig8("blocks switched behind chunk 2", 6, "blocks",
                         [](const SwitchSchedule& s) { return static_cast<double>(s.switched.at(1)); }));
  rows.push_back(of_fig8("k*, least of all rounds", 2, "blocks", [](const SwitchSchedule& s) {
    return static_cast<double>(std::ranges::min(s.rounds, {}, &SwitchRound::executions).executions);
  }));
  rows.push_back(of_fig8("k*, largest of all rounds", 2, "blocks", [](const SwitchSchedule& s) {
    return static_cast<double>(std::ranges::max(s.rounds, {}, &SwitchRound::executions).executions);
  }));
  rows.push_back(Row::not_predicted("SF16", "drafting and reuse, of a step", "ms", 0, 3,
                                    "drafting is measured, not modelled: docs/measured/drafts.md"));
  rows.push_back({"SF17", "calibration, of a prompt's token", "ms", 2, 2, Use::derived, Kind::absolute,
                  output_matrix_ms,
                  "the output matrix alone, on the NPU of the K60 Pro; the CPU's sampling is not modelled"});
  rows.push_back({"SF18", "calibrated data, 3B", "MB", 0, 500, Use::cannot_miss, Kind::bounds,
                  [](Lab&) { return 1e-6 * successor_bytes(kPromptTokens); },
                  "three successors of each prompt token; trees are walked, not stored"});
}

}  // namespace tandem::paper_sdnpu
