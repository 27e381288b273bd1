// `tandem profile`: the profiler (H8). Measures a model's operators on its devices, then says how well prediction mode
// does on shapes that it was not shown.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/app/common_flags.h"
#include "engine/measure/profiler.h"
#include "engine/run/engine.h"

namespace tandem::app {

struct ProfileFlags {
  bool quick = false;
  bool again = false;
};

// An engine that runs any of the named devices: an NPU alone gets the host for what it does not take.
std::unique_ptr<Engine> open_for_profile(const CommonFlags& flags, bool quick);
// Matmuls, then every other operator at several numbers of tokens and depths.
std::vector<ProfileTask> profile_tasks(Engine& engine, const Measurer& measurer, bool quick);
// Measures them with a bar on the terminal, until all are known or the user interrupts. again: also what `cache` has.
Profile measure_points(const CommonFlags& flags, std::span<const ProfileTask> tasks, DiskCache& cache, bool again);

int profile_command(const CommonFlags& flags, const ProfileFlags& profile);

}  // namespace tandem::app
