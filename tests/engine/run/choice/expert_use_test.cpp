// The counts of a model's experts while it runs, on numbers worked out by hand.
#include "engine/run/choice/expert_use.h"

#include <gtest/gtest.h>

#include "engine/model/shapes.h"

namespace tandem {
namespace {

// Four experts, two for each token, in both layers.
ModelConfig mixture() {
  return parse_shape(R"({"schema": 1, "architecture": "qwen3moe", "layers": 2, "hidden": 64, "feed_forward": 96,
                         "heads": 4, "vocabulary": 512, "experts": 4, "experts_used": 2, "expert_feed_forward": 32})",
                     "test");
}

struct Passed {
  explicit Passed(std::vector<int32_t> chosen, int64_t last_tokens) : ids(std::move(chosen)) {
    const auto tokens = static_cast<int64_t>(ids.size()) / 2;
    layers.push_back({0, tokens, 4, {}, ids, {}});
    layers.push_back({1, last_tokens, 4, {}, std::span(ids).last(static_cast<size_t>(2 * last_tokens)), {}});
  }
  std::vector<int32_t> ids;
  std::vector<RoutedLayer> layers;
};

TEST(ExpertUse, makes_plans_anew_when_twice_as_much_was_counted) {
  ExpertUse use(mixture(), {});
  const Passed pass({0, 1, 0, 2, 0, 3}, 1);
  EXPECT_TRUE(use.add({}, pass.layers, Overflow::spill)) << "nothing was known";
  EXPECT_EQ(use.counts().counts[0], (ExpertCounts{3, 1, 1, 1}));
  EXPECT_EQ(use.counts().counts[1], (ExpertCounts{1, 0, 0, 1})) << "of the last layer one token has logits";
  EXPECT_TRUE(use.add({}, pass.layers, Overflow::spill));
  EXPECT_FALSE(use.add({}, pass.layers, Overflow::spill)) << "9 tokens are not twice 6";
  EXPECT_EQ(use.counts().tokens, 6) << "plans are made of what was known then";
  EXPECT_TRUE(use.add({}, pass.layers, Overflow::spill));
  EXPECT_EQ(use.counts().counts[0], (ExpertCounts{12, 4, 4, 4}));
}

TEST(ExpertUse, with_a_calibration_stays_as_it_says) {
  RoutingCounts known = empty_counts(4, 2, {0, 1});
  known.tokens = 1;
  known.counts = {{1, 1, 0, 0}, {0, 0, 1, 1}};
  ExpertUse use(mixture(), known);
  EXPECT_FALSE(use.add({}, Passed({0, 1, 0, 2, 0, 3}, 3).layers, Overflow::spill));
  EXPECT_EQ(use.counts(), known);
}

// N10: expert 0 has two rows, expert 1 has four, and the others have none.
TEST(ExpertUse, tells_rows_that_were_filled_from_padding_and_overflow) {
  Plan plan;
  plan.experts.push_back({0, 3, {}});
  ExpertPlacement& placement = plan.experts.back().placement;
  placement.resident = {{4, {1}}, {2, {0}}};
  placement.capacities = {2, 4, 0, 0};
  ExpertUse use(mixture(), {});
  const Passed pass({0, 1, 0, 2, 0, 3}, 1);
  use.add(plan, pass.layers, Overflow::spill);
  const ExpertTotals& totals = use.totals();
  EXPECT_EQ(totals.graphs, 2);
  EXPECT_EQ(totals.choices, 6);
  EXPECT_EQ(totals.slots, 6);
  EXPECT_EQ(totals.valid, 3);  // two for expert 0, one for expert 1
  EXPECT_EQ(totals.elsewhere, 2);
  EXPECT_EQ(totals.spilled, 1);
  EXPECT_EQ(totals.dropped, 0);
  EXPECT_DOUBLE_EQ(totals.padded_share(), 0.5);
  use.add(plan, pass.layers, Overflow::drop);
  EXPECT_EQ(totals.dropped, 1);
  plan.experts.back().tokens = 4;  // a plan for another number of tokens is ignored
  use.add(plan, pass.layers, Overflow::drop);
  EXPECT_EQ(totals.choices, 12);
}

}  // namespace
}  // namespace tandem
