// `tandem profile`: the profiler (H8). Measures a model's operators on its devices, then says how well prediction mode
// does on shapes that it was not shown.
#pragma once

#include "engine/app/common_flags.h"

namespace tandem::app {

struct ProfileFlags {
  bool quick = false;
  bool again = false;
};

int profile_command(const CommonFlags& flags, const ProfileFlags& profile);

}  // namespace tandem::app
