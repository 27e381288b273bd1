// `tandem info`: what a model file holds, and which devices can compute with it.
#pragma once

#include "engine/app/command.h"
#include "engine/app/common_flags.h"

namespace tandem::app {

void add_info(CLI::App& app, Action& action);
int info_command(const CommonFlags& flags);

}  // namespace tandem::app
