// `tandem plan`: which step runs where and why, with predicted times; on this machine's measurements, or on a chip's
// model clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/app/common_flags.h"

namespace tandem::app {

struct PlanFlags {
  std::string shape;       // a published configuration or a JSON file in place of a model file
  int64_t prompt = 256;    // tokens
  std::string weights;     // storage type of the matrices, on a model clock; "": the file's, Q4_0 without one
  bool slow_sync = false;  // on a model clock: copies and blocking waits (H7)
  bool load = false;       // on a model clock: beside a program that renders (H14)
  std::vector<std::string> idle_flags{};  // that were given and say nothing on the clock that was asked for: "--split"
};

int plan_command(const CommonFlags& flags, const PlanFlags& plan);

}  // namespace tandem::app
