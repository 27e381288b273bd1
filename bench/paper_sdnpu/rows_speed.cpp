// SF20 to SF26: gains in time. The paper prints the ends of ranges alone, so they bound what is modelled.
#include <algorithm>

#include "bench/paper_sdnpu/row.h"

namespace tandem::paper_sdnpu {
namespace {

const std::vector<Task> kAllTasks(kTasks.begin(), kTasks.end());
const std::vector<Phone> kAllPhones(kPhones.begin(), kPhones.end());
// The phones whose CPU a printed number fixes (SF1). The K70 Pro's is chosen inside SF22 and SF25.
const std::vector<Phone> kCpuPhones{Phone::redmi_k60, Phone::oneplus_13};

// Gains in time over a set of phones, tasks and baselines.
std::function<std::vector<double>(Lab&)> in_time(const Settings& settings) {
  return [settings](Lab& lab) { return gains(lab, settings, ms_of); };
}

// SF20 and SF23 join two ranges.
std::function<std::vector<double>(Lab&)> in_time_of_both(const Settings& one, const Settings& other) {
  return [one, other](Lab& lab) {
    std::vector<double> all = gains(lab, one, ms_of), more = gains(lab, other, ms_of);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
}

// SF24: decoding with drafts on the CPU, beside plain decoding there.
std::function<std::vector<double>(Lab&)> over_plain_cpu(Runner drafts) {
  return [drafts](Lab& lab) {
    std::vector<double> all;
    for (const Task task : kTasks)
      all.push_back(ms_of(lab, Phone::redmi_k60, task, Runner::cpu) / ms_of(lab, Phone::redmi_k60, task, drafts));
    return all;
  };
}

// The models of Table 3 whose tokens of a pass are not printed.
std::function<std::vector<double>(Lab&)> of_other_models(Runner baseline) {
  return [baseline](Lab& lab) {
    std::vector<double> all;
    for (const char* model : {kQwen05, kLlama3})
      all.push_back(lab.table3_time(model, baseline).total() / lab.table3_time(model, Runner::ours).total());
    return all;
  };
}

}  // namespace

// Nothing here was fitted to a gain. Rows whose CPU or models rest on assumptions are not judged, and say so.
void add_speed_rows(std::vector<Row>& rows) {
  const std::vector<Task> summary{Task::summary};
  const Settings npu{kAllPhones, kAllTasks, {Runner::npu}}, cpu{kCpuPhones, kAllTasks, {Runner::cpu}};
  const Settings sam{kAllPhones, kAllTasks, {Runner::npu_sam}}, eagle{kAllPhones, kAllTasks, {Runner::npu_eagle}};
  const char *cells = "1.5B on three phones and four tasks",
             *cpu_cells = "1.5B, K60 Pro and OnePlus 13; SF1 fixes the CPU";
  const char* assumed = "the CPU's further tokens are an assumption, chosen with SF24 in view";
  const char* slow_cpu = "the CPU of this phone is an assumption, chosen inside SF22 and SF25";
  const char* others = "0.5B and 3B, K60 Pro, summary; their tokens of a pass are not printed: the gain of the 1.5B";
  const auto held = [&](const Bounds& printed, const Settings& settings, const char* note) {
    add_bounds(rows, printed, Use::held_out, in_time(settings), note);
  };
  add_bounds(rows, {"SF20", "gain over vanilla, all", "x", 1.06, 3.81}, Use::held_out, in_time_of_both(npu, cpu),
             "the range of SF21");
  held({"SF21", "gain over NPU vanilla", "x", 1.14, 3.81}, npu, cells);
  held({"SF21", "gain over CPU vanilla", "x", 1.06, 1.78}, cpu, cpu_cells);
  held({"SF22", "gain over NPU vanilla, summary", "x", 1.41, 3.80}, {kAllPhones, summary, {Runner::npu}}, cells);
  held({"SF22", "gain over CPU vanilla, summary", "x", 1.24, 1.61}, {kCpuPhones, summary, {Runner::cpu}}, cpu_cells);
  add_bounds(rows, {"SF22", "gain over NPU vanilla, summary, other models", "x", 1.41, 3.80}, Use::derived,
             of_other_models(Runner::npu), others);
  add_bounds(rows, {"SF23", "gain over frameworks with SD, all", "x", 1.09, 2.53}, Use::held_out,
             in_time_of_both(sam, eagle), "the range of SAM and EAGLE on the NPU");
  held({"SF23", "gain over SAM, NPU", "x", 1.11, 2.53}, sam, cells);
  held({"SF23", "gain over EAGLE, NPU", "x", 1.09, 1.80}, eagle, cells);
  for (const auto& [runner, name, low, high] : {std::tuple{Runner::cpu_sam, "gain over SAM, CPU", 1.11, 2.53},
                                                {Runner::cpu_eagle, "gain over EAGLE, CPU", 1.09, 1.80}})
    add_bounds(rows, {"SF23", name, "x", low, high}, Use::shared, in_time({kCpuPhones, kAllTasks, {runner}}), assumed);
  add_bounds(rows, {"SF23", "gain over SAM, NPU, other models", "x", 1.11, 2.53}, Use::derived,
             of_other_models(Runner::npu_sam), others);
  add_bounds(rows, {"SF23", "gain over EAGLE, NPU, other models", "x", 1.09, 1.80}, Use::derived,
             of_other_models(Runner::npu_eagle), others);
  add_bounds(rows, {"SF24", "SAM on the CPU over CPU vanilla", "x", 0.92, 1.13}, Use::shared,
             over_plain_cpu(Runner::cpu_sam), assumed);
  add_bounds(rows, {"SF24", "EAGLE on the CPU over CPU vanilla", "x", 0.56, 1.18}, Use::shared,
             over_plain_cpu(Runner::cpu_eagle), assumed);
  held({"SF25", "gain over NPU vanilla, K70 Pro", "x", 1.14, 2.91}, {{Phone::redmi_k70}, kAllTasks, {Runner::npu}},
       "1.5B, four tasks");
  add_bounds(rows, {"SF25", "gain over CPU vanilla, K70 Pro", "x", 1.13, 1.64}, Use::shared,
             in_time({{Phone::redmi_k70}, kAllTasks, {Runner::cpu}}), slow_cpu);
  rows.push_back({"SF26",
                  "tokens of a pass with EAGLE",
                  "tokens",
                  kEagleTokens,
                  kEagleTokens,
                  Use::input,
                  Kind::absolute,
                  {},
                  "taken as it is"});
}

}  // namespace tandem::paper_sdnpu
