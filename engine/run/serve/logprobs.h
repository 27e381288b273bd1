// The probabilities of tokens at one place of a text, by the model's own logits.
#pragma once

#include <cstdint>
#include <span>

#include "tandem/generate.h"

namespace tandem {

// logprob(i) = logit(i) - log(sum of exp(logit)). count: of the most likely tokens; the first ones among equals.
ChosenToken with_logprobs(std::span<const float> logits, int32_t id, int64_t count);

}  // namespace tandem
