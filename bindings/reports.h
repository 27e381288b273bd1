// Reports for users of a binding as JSON: a machine, a model, its plans, and a text.
//
// Contract: as for TextModel. Members are those of the program's --json where it has the same report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/text_model.h"

namespace tandem::bindings {

std::string version();  // "0.1.0"

// A list with each device of this machine, opened and closed again: as `devices` of `tandem devices --json`.
std::string devices_json();
// Architecture, sizes, devices, plan, and why bits may differ.
std::string model_json(const TextModel& model);
// The plan of a prompt of so many tokens and of one token behind it, with predicted times: as `tandem plan --json`.
// Nothing runs.
std::string plans_json(const TextModel& model, int64_t prompt_tokens);
// sync_lab_json() measures what each way of waiting costs on each device, as `tandem bench-sync --json`, without a
// model. It takes seconds to minutes. It opens devices of its own, and pins the calling thread meanwhile.
struct SyncAsked {
  std::vector<std::string> devices, policies;  // empty: all
  std::vector<double> work_seconds;            // lengths of steps, 0 to 1; empty: the usual ones
  int rounds = 0;                              // steps of each row; 0: by their length
  bool quick = false;
};
std::string sync_lab_json(const SyncAsked& asked, const Patience& patience);
// A text that was written, as a part of `tandem run --json`.
std::string generation_json(const Generation& generation);

}  // namespace tandem::bindings
