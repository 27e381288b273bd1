// How the experts of a running model are used: what plans expect of them follows it (N1), and what became of their rows
// on the NPU is told (N10).
//
// Contract: values; one thread. Only passes of many tokens are counted: single tokens go where their experts are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/model/config.h"
#include "engine/moe/calibration.h"
#include "engine/plan/plan.h"

namespace tandem {

// Where the tokens of the last pass went, in one layer with experts: in the order of the tokens, the last layer's only
// those with logits. Borrowed until the next pass.
struct RoutedLayer {
  int64_t layer = 0, tokens = 0;
  int64_t scores_stride = 0;       // E, or more where a gate follows
  std::span<const float> scores;   // [tokens, scores_stride]
  std::span<const int32_t> ids;    // [tokens, k], ascending
  std::span<const float> weights;  // [tokens, k]
};

// Of a model with experts, in the layers that have them.
RoutingCounts no_counts(const ModelConfig& config);

// Of all passes in which experts were on the NPU.
struct ExpertTotals {
  int64_t graphs = 0;     // groups that ran; those of a layer are launched together
  int64_t choices = 0;    // pairs of a token and an expert
  int64_t slots = 0;      // rows that were computed on the NPU
  int64_t valid = 0;      // of them, those with a token
  int64_t elsewhere = 0;  // choices of experts that are not on the NPU
  int64_t spilled = 0;    // beyond the room of one that is, computed elsewhere
  int64_t dropped = 0;    // the same, left out
  double padded_share() const { return slots == 0 ? 0 : 1 - static_cast<double>(valid) / static_cast<double>(slots); }
  double share_of_choices(int64_t of) const {
    return choices == 0 ? 0 : static_cast<double>(of) / static_cast<double>(choices);
  }
};

class ExpertUse {
 public:
  // With a calibration loads are what it says, and nothing is counted.
  ExpertUse(const ModelConfig& config, std::optional<RoutingCounts> calibrated);

  const RoutingCounts& counts() const { return planned_; }  // what plans are made of; its address stays
  const ExpertTotals& totals() const { return totals_; }

  // A pass of that plan went there. True: by now so much was counted that plans would be others.
  bool add(const Plan& plan, std::span<const RoutedLayer> layers, Overflow overflow);

 private:
  void add_totals(const PlannedExperts& planned, const RoutedLayer& layer, Overflow overflow);

  bool counts_ = true;
  RoutingCounts planned_, counted_;
  ExpertTotals totals_;
};

}  // namespace tandem
