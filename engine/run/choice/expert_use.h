// How the experts of a running model are used. Plans expect future choices to be like these (N1), and reports say how
// the rows on the NPU were used (N10).
//
// Contract: values; one thread. Only passes of many tokens are counted. A single token runs where its experts are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/model/config.h"
#include "engine/moe/calibration.h"
#include "engine/plan/plan.h"
#include "tandem/sequence.h"

namespace tandem {

// The routing of the last pass's tokens in one layer with experts, in the order of the tokens. In the model's last
// layer only tokens with logits have one. The views are valid until the next pass.
struct RoutedLayer {
  int64_t layer = 0, tokens = 0;
  int64_t scores_stride = 0;       // E, or E + 1 if the shared experts have a gate
  std::span<const float> scores;   // [tokens, scores_stride]
  std::span<const int32_t> ids;    // [tokens, k], ascending
  std::span<const float> weights;  // [tokens, k]
  // Y3: guessed scores [tokens, scores_stride] of the next layer with experts, of the one after it, and so on. Empty
  // unless TextOptions::guess_layers asks for them.
  std::vector<std::span<const float>> guesses{};
};

// The routing of one pass, before its tokens are appended. In the order of the pass: first the tokens of all extensions
// that get no logits, then those that get logits. Everything is borrowed.
struct RoutedPass {
  std::span<const Extension> extensions;
  std::span<const RoutedLayer> layers;
};

// Counts of zero for all layers that have experts. The model must have experts.
RoutingCounts no_counts(const ModelConfig& config);

// Sums over all passes in which experts were on the NPU.
struct ExpertTotals {
  int64_t graphs = 0;     // groups that ran; those of one layer are launched together
  int64_t choices = 0;    // pairs of a token and an expert
  int64_t slots = 0;      // rows that were computed on the NPU
  int64_t valid = 0;      // slots that held a token
  int64_t elsewhere = 0;  // choices of experts that are not on the NPU
  int64_t spilled = 0;    // choices beyond the room of an expert on the NPU, computed elsewhere
  int64_t dropped = 0;    // the same choices, if they are left out
  double padded_share() const { return slots == 0 ? 0 : 1 - static_cast<double>(valid) / static_cast<double>(slots); }
  double share_of_choices(int64_t of) const {
    return choices == 0 ? 0 : static_cast<double>(of) / static_cast<double>(choices);
  }
};

class ExpertUse {
 public:
  // With a calibration, the expected loads are those of its counts, and nothing is counted here.
  ExpertUse(const ModelConfig& config, std::optional<RoutingCounts> calibrated);

  const RoutingCounts& counts() const { return planned_; }  // plans are made from these; the address stays the same
  const ExpertTotals& totals() const { return totals_; }

  // Adds the routing of one pass under that plan. Returns true if the counts have grown so much that plans
  // should be made again.
  bool add(const Plan& plan, std::span<const RoutedLayer> layers, Overflow overflow);

 private:
  void add_totals(const PlannedExperts& planned, const RoutedLayer& layer, Overflow overflow);

  bool counts_ = true;               // false: there is a calibration, or the model has no experts
  RoutingCounts planned_, counted_;  // those that plans are made from, and all so far
  ExpertTotals totals_;
};

}  // namespace tandem
