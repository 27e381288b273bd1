// `tandem profile`: the profiler (H8). It measures a model's operators on its devices. Then it reports how well
// prediction mode does on shapes that were held out.
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

// Opens an engine that runs any of the named devices. An NPU alone gets the host for operators that it does
// not support.
std::unique_ptr<Engine> open_for_profile(const CommonFlags& flags, bool quick);
// Tasks for matmuls, then for every other operator at several numbers of tokens and depths.
std::vector<ProfileTask> profile_tasks(Engine& engine, const Measurer& measurer, bool quick);
// Measures the points, with a progress bar on the terminal, until all are known or the user interrupts. again: also
// measures points that `cache` has.
Profile measure_points(const CommonFlags& flags, std::span<const ProfileTask> tasks, DiskCache& cache, bool again);

int profile_command(const CommonFlags& flags, const ProfileFlags& profile);

}  // namespace tandem::app
