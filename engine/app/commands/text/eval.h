// `tandem eval`: one forward pass over the user's tokens. It writes their logits or the perplexity.
#pragma once

#include <string>

#include "engine/app/common_flags.h"

namespace tandem::app {

struct EvalFlags {
  std::string ids_file;    // token ids separated by white space, used as they are; "": the text of -p or -f
  std::string logits_out;  // float32, little-endian, [n_tokens, n_vocab]; "": not written
  bool perplexity = false;
};

int eval_command(const CommonFlags& flags, const EvalFlags& eval);

}  // namespace tandem::app
