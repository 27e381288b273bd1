// `tandem run` with many prompts: they share passes and common beginnings (engine/run/batcher.h).
#pragma once

#include "engine/app/commands/many_prompts.h"
#include "engine/app/common_flags.h"

namespace tandem::app {

// Answers come in the order of the prompts, each as soon as it and those before it are there; a line of standard input
// is answered before the next one is there. A prompt that is broken, or cannot be run, is answered with
// {"line" or "file", "error"}, and the rest goes on; the status is kFailed then.
int run_many_command(const CommonFlags& flags, const ManyPrompts& many);

}  // namespace tandem::app
