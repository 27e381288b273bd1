// `tandem eval` of many texts. Pieces of several texts share passes.
#pragma once

#include "engine/app/commands/text/many_prompts.h"
#include "engine/app/common_flags.h"

namespace tandem::app {

// Prints for each text {"line" or "file", "n_tokens", "perplexity", "mean_nll", "nll_tokens"}, in order or as they
// end. A broken text, or one longer than the context, is answered with an error. The others continue, and the
// status is kFailed.
int eval_many_command(const CommonFlags& flags, const ManyPrompts& many);

}  // namespace tandem::app
