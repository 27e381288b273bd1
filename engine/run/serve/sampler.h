// Chooses the next token from logits by a chain of steps: bias, penalties, temperature, top-k, top-p, min-p, draw. With
// temperature 0 it is greedy: the token with the largest logit.
//
// Contract: deterministic for a seed on every machine, because the C++ standard defines the generator's bits, and the
// uniform draw is computed here. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "engine/run/serve/candidates.h"
#include "tandem/generate.h"

namespace tandem {

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);
  // logits: [vocabulary]. Returns a token and remembers it for the repeat penalty. Nothing: a logit is not finite.
  // allowed: a bit for each token, at least one of them set; a token without one is never chosen. Empty: all tokens.
  std::optional<int32_t> sample(std::span<const float> logits, std::span<const uint64_t> allowed = {});
  void accept(int32_t id);  // a token from elsewhere (the prompt), for the repeat penalty
  bool plain_greedy() const { return options_.temperature <= 0 && !adjusts(); }

 private:
  // Whether a step in front of the filters changes logits.
  bool adjusts() const { return options_.repeat_penalty != 1.0f || counts_generated() || !options_.logit_bias.empty(); }
  void adjust(std::span<float> logits) const;
  int32_t choose(std::span<const float> logits);
  bool counts_generated() const { return options_.presence_penalty != 0 || options_.frequency_penalty != 0; }
  SamplerOptions options_;
  std::map<int32_t, int64_t> generated_;  // how often each token was chosen, if that counts
  std::mt19937_64 random_;
  std::deque<int32_t> recent_;
};

// The steps that change logits. They are pure functions.

// Divides positive logits of the recent tokens by the penalty, and multiplies negative ones by it (Keskar et al. 2019).
void apply_repeat_penalty(std::span<float> logits, std::span<const int32_t> recent, float penalty);
// Subtracts presence + count * frequency from the logits of generated tokens (OpenAI's penalties).
void apply_count_penalties(std::span<float> logits, const std::map<int32_t, int64_t>& counts, float presence,
                           float frequency);
// Adds to the logits of these tokens; unknown ids are left out.
void apply_bias(std::span<float> logits, std::span<const std::pair<int32_t, float>> bias);
// Sets the logits of tokens without a bit to minus infinity; of those beyond the bits, too.
void exclude(std::span<float> logits, std::span<const uint64_t> allowed);

}  // namespace tandem
