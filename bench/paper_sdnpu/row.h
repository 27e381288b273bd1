// The rows of the sd.npu paper on the model clock.
//
// Contract: bench/paper/row.h. A row of several numbers becomes several rows with one id. The two ends of a
//   range are rows of their own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/paper/row.h"
#include "bench/paper_sdnpu/lab.h"

namespace tandem::paper_sdnpu {

using paper::Kind;
using paper::Result;
using paper::Use;
using Row = paper::RowFor<Lab>;

inline constexpr paper::Bars kBars{0.15, 0.15, true};

std::vector<Row> all_rows();                       // in the paper's order
void add_motive_rows(std::vector<Row>& rows);      // SF1 to SF6, SF10, SF12, SF13
void add_pass_rows(std::vector<Row>& rows);        // SF7 to SF9, SF11
void add_part_rows(std::vector<Row>& rows);        // SF14 to SF18: worked examples and overheads
void add_speed_rows(std::vector<Row>& rows);       // SF20 to SF26
void add_energy_rows(std::vector<Row>& rows);      // SF30 to SF35
void add_ablation_rows(std::vector<Row>& rows);    // SF40 to SF44: Table 3
void add_memory_rows(std::vector<Row>& rows);      // SF50, SF51
void add_acceptance_rows(std::vector<Row>& rows);  // SF60 to SF76: Table 4

// Printed ends that bound several modelled values: a row for the smallest and one for the largest of them.
struct Bounds {
  const char* id;
  std::string what;
  const char* unit;
  double low, high;
};
void add_bounds(std::vector<Row>& rows, const Bounds& printed, Use use,
                const std::function<std::vector<double>(Lab&)>& modelled, const char* note);

// The settings of the 1.5 B over which a range goes.
struct Settings {
  std::vector<Phone> phones;
  std::vector<Task> tasks;
  std::vector<Runner> baselines;
};
// Each baseline's value over that of ours.
using Quantity = double (*)(Lab&, Phone, Task, Runner);
std::vector<double> gains(Lab& lab, const Settings& settings, Quantity quantity);
double ms_of(Lab& lab, Phone phone, Task task, Runner runner);
double joules_of(Lab& lab, Phone phone, Task task, Runner runner);

}  // namespace tandem::paper_sdnpu
