// `tandem history`: the file of earlier texts that `tandem run --history` uses.
#pragma once

#include "engine/app/command.h"

namespace tandem::app {

void add_history(CLI::App& app, Action& action);

}  // namespace tandem::app
