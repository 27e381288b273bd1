// M4: how many drafts a pass should have. Drafts make a pass longer, and only some of them are accepted.
//
// Contract: a pure function.
#pragma once

#include <cstdint>
#include <span>

namespace tandem {

// Drafts must gain more than this share, because measured times have noise.
inline constexpr double kNoiseMargin = 0.03;

// The tokens that a pass with the first `drafts` of these drafts gives in its time. Parameters are those below.
double tokens_a_second(std::span<const double> weights, std::span<const double> seconds, int64_t texts, int64_t drafts);

// The least n with the largest (texts + w1 + ... + wn) / T(texts + n): the tokens that a pass gives in its time.
// weights: the chance of each draft to be accepted, the best one first. seconds[n]: T(texts + n), in any unit, for n =
// 0 to seconds.size() - 1; no more drafts than that are run. margin: drafts must gain more than this share over a pass
// without drafts, because measured times have noise.
int64_t best_draft_count(std::span<const double> weights, std::span<const double> seconds, int64_t texts = 1,
                         double margin = 0);

}  // namespace tandem
