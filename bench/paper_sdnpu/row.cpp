#include "bench/paper_sdnpu/row.h"

#include <algorithm>
#include <utility>

namespace tandem::paper_sdnpu {

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto add : {add_motive_rows, add_pass_rows, add_part_rows, add_speed_rows, add_energy_rows,
                         add_ablation_rows, add_memory_rows, add_acceptance_rows}) {
    add(rows);
  }
  return paper::in_papers_order(std::move(rows));
}

// A range is printed by its two ends, which bound all modelled values.
void add_bounds(std::vector<Row>& rows, const Bounds& printed, Use use,
                const std::function<std::vector<double>(Lab&)>& modelled, const char* note) {
  const auto row = [&](const char* end, const std::function<double(Lab&)>& value) {
    rows.push_back({printed.id, printed.what + ", " + end, printed.unit, printed.low, printed.high, use, Kind::bounds,
                    value, note});
  };
  row("least", [modelled](Lab& lab) { return std::ranges::min(modelled(lab)); });
  row("largest", [modelled](Lab& lab) { return std::ranges::max(modelled(lab)); });
}

// Every baseline in every setting, over ours there.
std::vector<double> gains(Lab& lab, const Settings& settings, Quantity quantity) {
  std::vector<double> all;
  for (const Phone phone : settings.phones)
    for (const Task task : settings.tasks)
      for (const Runner baseline : settings.baselines)
        all.push_back(quantity(lab, phone, task, baseline) / quantity(lab, phone, task, Runner::ours));
  return all;
}

double ms_of(Lab& lab, Phone phone, Task task, Runner runner) { return lab.time(phone, task, runner).total(); }

double joules_of(Lab& lab, Phone phone, Task task, Runner runner) { return lab.joules(phone, task, runner); }

}  // namespace tandem::paper_sdnpu
