// C10: predictions of the plans that divide experts, and which of them runs.
#include "engine/run/machine/lane_plans.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/run/machine/lane_times.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

// An expert takes 4 on the host and 1 on the GPU. A copy takes 1, and its hand-over 0.5. The first
// of two chosen experts has a slot.
constexpr ExpertCosts kCosts{.cpu_fixed = 4, .gpu_fixed = 1, .transfer = 1, .link_offset = 0.5};
const ActiveExperts kTwo{{0, 1}, {1, 1}, {0}};

class LanePlansTest : public ::testing::Test {
 protected:
  LanePlansTest() {
    const ScheduleRule *fixed = find_schedule_rule("fixed"), *moved = find_schedule_rule("gpu-only");
    plans_.choose_among({{.name = "best", .keeps = true},
                         {.name = "fixed", .prompts = fixed, .text = fixed},
                         {.name = "moved", .prompts = moved, .text = moved},
                         {.name = "layers", .by_layers = true},
                         {.name = "kept", .prompts = moved, .text = moved, .keeps = true}});
  }
  // One layer, which would be on the GPU or not if layers were split.
  void pass(int64_t tokens, double seconds, double rest = -1, bool on_gpu = true, double rest_by_layers = 1) {
    const std::string_view plan = plans_.plan_for(tokens).name;
    plans_.begin_pass();
    if (plan != "layers") plans_.add(kTwo, divisions_, tokens == 1, on_gpu);
    if (rest >= 0) plans_.measured_rest(tokens, rest);
    plans_.took({.plan = plan, .tokens = tokens, .seconds = seconds, .rest_by_layers = rest_by_layers});
  }
  std::vector<double> predicted(bool of_text) const {
    std::vector<double> all;
    for (const LanePlans::Row& row : plans_.rows(of_text)) all.push_back(row.offer.predicted);
    return all;
  }

  LaneDivisions divisions_{kCosts};
  LanePlans plans_;
};

// The best division moves the second expert: it arrives at 1.5, and the GPU ends at 2.5.
TEST_F(LanePlansTest, predict_the_rest_and_the_experts_by_the_laws) {
  pass(1, 13, 10);
  EXPECT_THAT(predicted(true), ElementsAre(12.5, 14, 12.5, 12, 12.5));
}

TEST_F(LanePlansTest, predict_layers_that_are_split_by_where_they_are) {
  pass(1, 13, 10, false, 1.5);
  EXPECT_EQ(predicted(true)[3], 15 + 8);
}

TEST_F(LanePlansTest, know_nothing_before_a_pass_is_measured) {
  pass(1, 13);
  for (const double each : predicted(true)) EXPECT_TRUE(std::isinf(each));
  for (int again = 0; again < 30; ++again) pass(1, 13);
  EXPECT_EQ(plans_.plan_for(1).name, "best");
}

TEST_F(LanePlansTest, leave_a_plan_that_is_slower_than_anothers_prediction_within_16_tokens) {
  int64_t passes = 0;
  for (; plans_.plan_for(1).name == "best" && passes < 100; ++passes) pass(1, 20, 10);
  EXPECT_LE(passes, 16);
  EXPECT_EQ(plans_.plan_for(1).name, "layers") << "the least prediction";
  EXPECT_EQ(plans_.plan_for(8).name, "layers") << "a few tokens follow the text";
  EXPECT_EQ(plans_.plan_for(256).name, "best") << "prompts have a choice of their own";
}

TEST_F(LanePlansTest, compare_prompts_by_the_token_and_by_what_differs_there) {
  pass(200, 200 * 3.0, 200 * 1.0);
  EXPECT_THAT(predicted(false), ElementsAre(1 + 2.5 / 200, 1 + 4.0 / 200, 1 + 2.5 / 200, 1 + 2.0 / 200))
      << "`kept` does the same as `moved`";
  EXPECT_TRUE(plans_.rows(true).empty());
}

// Such a pass was prepared before the choice changed.
TEST_F(LanePlansTest, ignore_passes_of_other_plans) {
  pass(1, 13, 10);
  for (int i = 0; i < 30; ++i) plans_.took({.plan = "fixed", .tokens = 1, .seconds = 99});
  EXPECT_EQ(plans_.plan_for(1).name, "best");
}

// Factors, biases and units of a lane's experts count as the products in front of them. Those of other matrices do not.
TEST(LaneTimes, of_products_have_what_follows_them) {
  GroupedMatMul product;
  product.listed_only = true;
  Scale factor;
  Bias bias;
  factor.chosen = bias.chosen = true;
  Plan plan;
  plan.devices = {"host"};
  plan.steps = {{0,
                 {{"up", product},
                  {"factor", factor},
                  {"bias", bias},
                  {"unit", Glu{}},
                  {"sum", ExpertSum{}},
                  {"bias of attention", Bias{}},
                  {"factor of attention", Scale{}}},
                 {}}};
  PassSpans spans(1);
  for (int op = 0; op < 7; ++op) spans[0].push_back({0, op, op * 10.0, op * 10.0 + (1 << op)});
  EXPECT_EQ(lane_seconds(plan, spans).host, 1 + 2 + 4 + 8);
  EXPECT_EQ(lane_seconds(plan, spans).gpu, 0);
}

}  // namespace
}  // namespace tandem
