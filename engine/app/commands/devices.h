// `tandem devices`: every device that can be opened here, and what it has proven about itself.
#pragma once

#include "engine/app/command.h"
#include "engine/app/common_flags.h"

namespace tandem::app {

void add_devices(CLI::App& app, Action& action);
int devices_command(const CommonFlags& flags);

}  // namespace tandem::app
