// Probabilities of a token and of the likeliest others, by the logits before any penalty or filter.
#include "engine/run/serve/logprobs.h"

#include <algorithm>

#include "engine/run/serve/candidates.h"

namespace tandem {

ChosenToken with_logprobs(std::span<const float> logits, int32_t id, int64_t count) {
  const double scale = log_sum_of_exp(logits);
  const auto logprob = [&](float logit) { return static_cast<float>(logit - scale); };
  ChosenToken chosen{id, logprob(logits[static_cast<size_t>(id)]), {}};
  if (count <= 0) return chosen;
  for (const Candidate& each : keep_top_k(logits, static_cast<int>(std::min<int64_t>(count, std::ssize(logits)))))
    chosen.likely.push_back({each.id, logprob(each.logit)});
  return chosen;
}

}  // namespace tandem
