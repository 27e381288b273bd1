// `tandem plan`: prints which step runs where and why, with predicted times. Times come from measurements of this
// machine, or from a chip's model clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/app/common_flags.h"

namespace tandem::app {

struct PlanFlags {
  std::string shape;       // a published configuration or a JSON file, instead of a model file
  int64_t prompt = 256;    // tokens
  std::string weights;     // storage type of the matrices, on a model clock; "": the file's, Q4_0 without one
  bool slow_sync = false;  // on a model clock: copies and blocking waits (H7)
  bool load = false;       // on a model clock: another program renders meanwhile (H14)
  std::vector<std::string> idle_flags{};  // flags of the user that have no effect on this clock: "--split"
};

int plan_command(const CommonFlags& flags, const PlanFlags& plan);

}  // namespace tandem::app
