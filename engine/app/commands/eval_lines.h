// `tandem eval` of many texts: pieces of several of them share passes.
#pragma once

#include "engine/app/commands/many_prompts.h"
#include "engine/app/common_flags.h"

namespace tandem::app {

// Of each text {"line" or "file", "n_tokens", "perplexity", "mean_nll", "nll_tokens"}, in order or as they end. One
// that is broken, or longer than the context, is answered with an error, and the rest goes on; the status is kFailed
// then.
int eval_many_command(const CommonFlags& flags, const ManyPrompts& many);

}  // namespace tandem::app
