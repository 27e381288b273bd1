// The chain of steps. Random numbers of a seed are the same on every machine.
#include "engine/run/serve/sampler.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/run/pass/not_finite.h"

namespace tandem {

Sampler::Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) {}

// The last tokens, the prompt's too, are what the repeat penalty looks at.
void Sampler::accept(int32_t id) {
  recent_.push_back(id);
  while (static_cast<int>(recent_.size()) > options_.repeat_last) recent_.pop_front();
}

// Without penalties, biases and masks the logits are read where they are. Else a copy is changed.
std::optional<int32_t> Sampler::sample(std::span<const float> logits, std::span<const uint64_t> allowed) {
  int32_t id = 0;
  if (plain_greedy() && allowed.empty()) {
    const auto choice = greedy_choice_of_finite(logits);
    if (!choice) return std::nullopt;
    id = *choice;
  } else if (!all_finite(logits)) {
    return std::nullopt;
  } else if (adjusts() || !allowed.empty()) {
    std::vector<float> adjusted(logits.begin(), logits.end());
    apply_bias(adjusted, options_.logit_bias);
    if (!allowed.empty()) exclude(adjusted, allowed);
    adjust(adjusted);
    id = choose(adjusted);
  } else {
    id = choose(logits);
  }
  if (counts_generated()) ++generated_[id];
  accept(id);
  return id;
}

void Sampler::adjust(std::span<float> logits) const {
  const std::vector<int32_t> recent(recent_.begin(), recent_.end());
  apply_repeat_penalty(logits, recent, options_.repeat_penalty);
  apply_count_penalties(logits, generated_, options_.presence_penalty, options_.frequency_penalty);
}

// The draw has 53 random bits: the same on every machine, which std::uniform_real_distribution does not promise.
int32_t Sampler::choose(std::span<const float> logits) {
  if (options_.temperature <= 0) return greedy_choice(logits);
  const Filters filters{options_.temperature, options_.top_p, options_.min_p,
                        static_cast<double>(random_() >> 11) * 0x1.0p-53};
  if (options_.top_k <= 0) return draw_of_all(logits, filters);
  return draw_filtered(keep_top_k(logits, options_.top_k), filters);
}

// A token is penalised once, however often it occurred. Positive logits are divided and negative ones multiplied, so
// both fall if the penalty is above 1.
void apply_repeat_penalty(std::span<float> logits, std::span<const int32_t> recent, float penalty) {
  if (penalty == 1.0f) return;
  std::vector<int32_t> unique(recent.begin(), recent.end());
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  for (int32_t id : unique) {
    if (id < 0 || id >= static_cast<int32_t>(logits.size())) continue;
    float& logit = logits[static_cast<size_t>(id)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

// OpenAI's penalties count generated tokens alone: once for being there, and once for each time.
void apply_count_penalties(std::span<float> logits, const std::map<int32_t, int64_t>& counts, float presence,
                           float frequency) {
  for (const auto& [id, count] : counts)
    if (id >= 0 && id < std::ssize(logits))
      logits[static_cast<size_t>(id)] -= presence + static_cast<float>(count) * frequency;
}

void apply_bias(std::span<float> logits, std::span<const std::pair<int32_t, float>> bias) {
  for (const auto& [id, added] : bias)
    if (id >= 0 && id < std::ssize(logits)) logits[static_cast<size_t>(id)] += added;
}

// Words of bits that are all clear or all set are frequent.
void exclude(std::span<float> logits, std::span<const uint64_t> allowed) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  for (size_t begin = 0; begin < logits.size(); begin += 64) {
    const uint64_t bits = begin / 64 < allowed.size() ? allowed[begin / 64] : 0;
    const auto some = logits.subspan(begin, std::min<size_t>(64, logits.size() - begin));
    if (bits == ~uint64_t{0}) continue;
    for (size_t i = 0; i < some.size(); ++i)
      if (!(bits >> i & 1)) some[i] = kNever;
  }
}

}  // namespace tandem
