// SF30 to SF35: energy, as watts of NPU and CPU times their busy time. The model has no other consumer of power.
#include <algorithm>

#include "bench/paper_sdnpu/row.h"

namespace tandem::paper_sdnpu {
namespace {

// Energies of two phones in all tasks, over ours.
std::function<std::vector<double>(Lab&)> in_energy(const std::vector<Runner>& baselines) {
  const Settings settings{{Phone::redmi_k60, Phone::oneplus_13}, {kTasks.begin(), kTasks.end()}, baselines};
  return [settings](Lab& lab) { return gains(lab, settings, joules_of); };
}

// The energy of one request fixes the watts of a phone's NPU.
void add_request(std::vector<Row>& rows, Phone phone, double printed) {
  rows.push_back({"SF35", "energy of a request, 1.5B, " + std::string(profile_name(phone)), "J", printed, printed,
                  Use::calibration, Kind::absolute,
                  [phone](Lab& lab) { return lab.joules(phone, Task::summary, Runner::npu); },
                  "fixes the NPU's watts; engine and task are not said: NPU vanilla, summary"});
}

// On the NPU alone energies are in the proportion of times, for any watts.
void add_time_ratio(std::vector<Row>& rows, const Bounds& printed, const char* model, Runner slower, Runner faster) {
  const auto ratio = [=](Lab& lab) {
    return lab.table3_time(model, slower).total() / lab.table3_time(model, faster).total();
  };
  rows.push_back({printed.id, printed.what, printed.unit, printed.low, printed.high, Use::derived, Kind::bounds, ratio,
                  "K60 Pro, summary; watts cancel"});
}

}  // namespace

// Two rows fix watts. Ratios within the NPU do not depend on watts and judge the times alone; ratios to the
// CPU judge both.
void add_energy_rows(std::vector<Row>& rows) {
  const char* times = "1.5B; on the NPU watts cancel, so it is the ratio of times";
  const char* watts = "1.5B; with the CPU's watts of SF31";
  add_bounds(rows, {"SF30", "energy over vanilla", "x", 1.11, 4.18}, Use::derived,
             in_energy({Runner::npu, Runner::cpu}), "the range of SF31");
  add_bounds(rows, {"SF30", "energy over frameworks with SD", "x", 1.07, 4.71}, Use::derived,
             in_energy({Runner::npu_sam, Runner::cpu_sam, Runner::npu_eagle, Runner::cpu_eagle}), "the range of SF33");
  add_bounds(rows, {"SF31", "energy over NPU vanilla", "x", 1.35, 4.18}, Use::derived, in_energy({Runner::npu}), times);
  const size_t least = rows.size();
  add_bounds(rows, {"SF31", "energy over CPU vanilla", "x", 1.11, 2.50}, Use::derived, in_energy({Runner::cpu}), watts);
  rows[least].use = Use::calibration;
  rows[least].note = "fixes the CPU's watts: 1.11";
  add_time_ratio(rows, {"SF32", "energy over NPU vanilla, 3B", "x", 1.42, 1.85}, kLlama3, Runner::npu, Runner::ours);
  add_bounds(rows, {"SF33", "energy over SAM", "x", 1.07, 3.07}, Use::derived,
             in_energy({Runner::npu_sam, Runner::cpu_sam}), watts);
  add_bounds(rows, {"SF33", "energy over EAGLE", "x", 1.77, 4.71}, Use::derived,
             in_energy({Runner::npu_eagle, Runner::cpu_eagle}), watts);
  add_time_ratio(rows, {"SF34", "energy of NPU vanilla over ours, 0.5B", "x", 1.40, 3.50}, kQwen05, Runner::npu,
                 Runner::ours);
  add_time_ratio(rows, {"SF34", "energy of NPU vanilla over SAM, 0.5B", "x", 1.17, 1.54}, kQwen05, Runner::npu,
                 Runner::npu_sam);
  add_time_ratio(rows, {"SF34", "energy of NPU vanilla over EAGLE, 0.5B", "x", 0, 1}, kQwen05, Runner::npu,
                 Runner::npu_eagle);
  add_request(rows, Phone::redmi_k60, 53.85);
  add_request(rows, Phone::oneplus_13, 56.52);
}

}  // namespace tandem::paper_sdnpu
