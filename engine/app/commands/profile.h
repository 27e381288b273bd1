// `tandem profile`: the profiler (H8). Measures a model's operators on its devices, then says how well prediction mode
// does on shapes that it was not shown.
#pragma once

#include <memory>
#include <vector>

#include "engine/app/common_flags.h"
#include "engine/run/engine.h"
#include "engine/run/profiler.h"

namespace tandem::app {

struct ProfileFlags {
  bool quick = false;
  bool again = false;
};

// An engine that runs any of the named devices: an NPU alone gets the host for what it does not take.
std::unique_ptr<Engine> open_for_profile(const CommonFlags& flags, bool quick);
// Matmuls, then every other operator at several numbers of tokens and depths.
std::vector<ProfileTask> profile_tasks(Engine& engine, const Measurer& measurer, bool quick);

int profile_command(const CommonFlags& flags, const ProfileFlags& profile);

}  // namespace tandem::app
