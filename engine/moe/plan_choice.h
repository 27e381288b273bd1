// C10, Y7: which of several plans divides the experts of a text, or of prompts of about one length.
//
// Each plan has a prediction by the laws of cost, which is optimistic, since it leaves out waits. The plan of the least
// prediction runs first. Then the median of its passes replaces its prediction, and it is left where another plan is
// predicted to be faster, or was. So every plan that might be the fastest runs for a moment, and a slow one is left
// within 16 passes. Plans that were left are tried again, but ever more seldom, because texts and machines change.
//
// A plan may try variants of itself (engine/moe/link_choice.h). Passes of such a trial say nothing about the plan.
//
// Contract: a value without a clock. plan() says how the next pass runs; took() gets the time of that pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tandem {

// Passes of a plan. least: before it is judged, the first of them not counted; most: it is judged even if it still
// tries variants. far_behind: so many show that a plan is slower by far. again: passes until a plan that was left may
// be tried again.
struct PlanPeriods {
  int64_t least, most, far_behind, again;
};
inline constexpr PlanPeriods kPlansOfText{8, 16, 4, 128}, kPlansOfPrompts{2, 4, 1, 16};

class PlanChoice {
 public:
  // The seconds of a plan's passes. measured: the median when it ran last, until it may be tried again.
  struct Offer {
    double predicted = 0;
    std::optional<double> measured;
    double seconds() const { return measured.value_or(predicted); }
  };
  struct Pass {
    double seconds = 0;
    int variant = 0;     // of the plan
    bool tries = false;  // the plan tries this variant
  };

  explicit PlanChoice(size_t plans, const PlanPeriods& periods = kPlansOfText);

  // seconds: predicted, by plan. Before the first pass the least one is chosen, of equals the first.
  void predict(std::span<const double> seconds);
  size_t plan() const { return plan_; }
  void took(const Pass& pass);
  std::span<const Offer> offers() const { return offers_; }

 private:
  bool is_judged() const;
  void leave_for(size_t other);
  size_t best() const;

  struct Left {
    int64_t again = 0, wait = 0;  // the pass at which a plan may be tried again, and the passes until then
  };
  PlanPeriods periods_;
  std::vector<Offer> offers_;
  std::vector<Left> left_;
  size_t plan_ = 0;
  int64_t all_passes_ = 0, passes_ = 0;  // passes_: of the present plan
  int variant_ = 0;
  std::vector<double> seconds_, of_trials_;  // of the present plan's latest passes
};

}  // namespace tandem
