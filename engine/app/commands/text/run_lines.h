// `tandem run` with many prompts. They share passes and common prefixes (include/tandem/generate.h).
#pragma once

#include "engine/app/commands/text/many_prompts.h"
#include "engine/app/common_flags.h"

namespace tandem::app {

// Answers come in the order of the prompts, each as soon as it and all before it are finished. A line of standard input
// is answered even if the next line has not come yet. A prompt that is broken or cannot run is answered with {"line" or
// "file", "error"}. The others continue, and the status is kFailed.
int run_many_command(const CommonFlags& flags, const ManyPrompts& many);

}  // namespace tandem::app
