// `tandem run`: lets the model continue a text.
#pragma once

#include "engine/app/common_flags.h"

namespace tandem::app {

int run_command(const CommonFlags& flags);

}  // namespace tandem::app
