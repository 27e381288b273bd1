// C10: which plan divides the experts of each pass, if `auto` chooses among those of Y7.
//
// A pass takes the time of its experts, and a rest. For each plan the laws of cost say what the experts of the pass
// would take in the present slots (LanePlans::add()). Measured passes say what the rest takes. Both together are the
// plan's prediction, and PlanChoice compares it with the passes that ran. Text of one token and prompts of about one
// length have a choice each. Passes of 2 to 8 tokens follow the choice of text.
//
// Contract: belongs to LaneDecider, whose lock protects add(); other methods are called while no pass runs. Seconds are
// those of a token. Without choose_among() nothing is chosen, and passes are not counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/moe/lane_division.h"
#include "engine/moe/plan_choice.h"

namespace tandem {

// A plan with lanes. prompts, text: its schedules; nullptr: the best one. by_layers: it divides no layer, but puts the
// first layers on the GPU.
struct LanePlan {
  std::string_view name;  // outlives every engine
  const ScheduleRule *prompts = nullptr, *text = nullptr;
  bool keeps = false;  // text keeps copied experts
  bool by_layers = false;
};

class LanePlans {
 public:
  // A pass that ran. rest_by_layers: how many times as long everything but experts takes if layers are split. variant,
  // tries: as in PlanChoice::Pass.
  struct Pass {
    std::string_view plan;
    int64_t tokens = 0;
    double seconds = 0;
    double rest_by_layers = 1;
    int variant = 0;
    bool tries = false;
  };

  void choose_among(std::vector<LanePlan> plans) { plans_ = std::move(plans); }
  bool is_open() const { return !plans_.empty(); }

  void begin_pass() { experts_.clear(); }
  // A decision of this pass: what each plan's experts are expected to take. on_gpu: the layer would be on the GPU if
  // layers were split.
  void add(const ActiveExperts& active, LaneDivisions& divisions, bool is_text, bool on_gpu);
  // seconds: everything but the experts, of the last pass.
  void measured_rest(int64_t tokens, double seconds);
  void took(const Pass& pass);

  const LanePlan& plan_for(int64_t tokens);

  struct Row {
    std::string_view name;
    PlanChoice::Offer offer;
  };
  std::vector<Row> rows(bool of_text) const;  // of the latest choice of such passes; empty: there is none

 private:
  struct Choice {
    std::vector<size_t> plans;  // those that differ for these passes
    PlanChoice choice;
    std::vector<double> experts;  // of a token, by plan; a running mean. Empty: unknown
    std::optional<double> rest;   // of a token
  };
  Choice& choice_of(int64_t tokens);
  std::vector<double> predictions(const Choice& choice, double rest_by_layers) const;

  std::vector<LanePlan> plans_;
  std::map<int, Choice> choices_;  // by length class: 0 is text
  std::vector<double> experts_;    // of this pass, by plan; empty: nothing was decided
  std::optional<int> latest_prompts_;
};

// Passes of few tokens write text. Their costs and their choices are learnt apart from those of prompts.
bool is_text_pass(int64_t tokens);
// Text is class 0. Prompts of one class differ in length by less than a factor of 2.
int lane_length_class(int64_t tokens);

}  // namespace tandem
