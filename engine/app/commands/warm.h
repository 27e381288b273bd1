// `tandem warm`: compiles a GPU's kernels for a kind of model ahead of time.
#pragma once

#include "engine/app/command.h"
#include "engine/app/common_flags.h"

namespace CLI {
class App;
}

namespace tandem::app {

struct WarmFlags {
  bool background = false;
};

void add_warm(CLI::App& app, Action& action);
int warm_command(const CommonFlags& flags, const WarmFlags& own);

}  // namespace tandem::app
