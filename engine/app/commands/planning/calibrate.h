// `tandem calibrate`: writes a processor profile of this machine for the model clock (docs/model_clock.md).
#pragma once

#include <string>

#include "engine/app/common_flags.h"

namespace tandem::app {

struct CalibrateFlags {
  std::string output;  // path of the profile
};

int calibrate_command(const CommonFlags& flags, const CalibrateFlags& calibrate);

}  // namespace tandem::app
