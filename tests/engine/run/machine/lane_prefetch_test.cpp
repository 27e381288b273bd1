// Y3: what the decider lets the link copy ahead, and what becomes of it. Y4: which experts are inserted.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "engine/run/machine/lane_decider.h"
#include "engine/tensor/routing.h"

namespace tandem {
namespace {

constexpr int64_t kExperts = 4, kSlots = 2, kPlaces = 2;
constexpr size_t kBytes = 1000;

// Three layers, whose slots hold experts 0 and 1. A token has two experts. An expert takes the link `transfer` seconds,
// and the host ten times as long.
class LanePrefetchTest : public ::testing::Test {
 protected:
  LaneDecider decider(double transfer, double gpu_of_transfer = 0.01) {
    std::vector<LaneDecider::Layer> layers;
    for (int64_t layer = 0; layer < 3; ++layer) {
      residents_[layer] = {kExperts, kSlots};
      for (int32_t slot = 0; slot < kSlots; ++slot) residents_[layer].put(slot, slot);
      LayerRequests requests;
      requests.experts = kExperts;
      layers.push_back({layer, &residents_[layer], expert_policy("lru")->make({}, requests), kPlaces});
    }
    const double gpu = transfer * gpu_of_transfer;
    return {std::move(layers),
            LaneDecider::Costs{CostLaw({gpu, 0}), CostLaw({10 * transfer, 0}), CostLaw({transfer, 0}), 0}};
  }
  // The copies into slots that the decision of this layer asks for, as triples.
  std::vector<int32_t> decide(LaneDecider& lanes, int64_t layer, std::vector<int32_t> ids, const char* schedule = "",
                              int64_t inserts = 0) {
    const std::vector<float> weights(ids.size(), 0.5F);
    const size_t n = ids.size(), words = move_table_words(kPlaces);
    std::vector<int32_t> in_slots(n), on_host(n), row_of(n), landed(n), copies(words), keepings(words), inserted(words);
    LaneTables tables{in_slots, on_host, row_of, {landed}, {copies}, {keepings}, {}};
    if (inserts > 0) tables.inserts = inserted;
    lanes.decide({layer, 2, ids, weights, schedule, inserts > 0, {kSlots, kPlaces, 1, inserts}}, tables);
    inserted.resize(static_cast<size_t>(1 + 3 * inserted[0]));
    return inserted;
  }
  static GuessRequest guess_of(const std::vector<float>& scores) { return {0, 1, 2, 1, scores, kExperts, "gpu-only"}; }

  // A prompt of nine tokens, which all choose these two experts. The last of two turns has copies ahead. Returns the
  // place of each expert on the landing of that turn.
  std::vector<int32_t> decide_prompt(LaneDecider& lanes, int64_t layer, int32_t a, int32_t b) {
    std::vector<int32_t> ids;
    for (int token = 0; token < kPrompt; ++token) ids.insert(ids.end(), {a, b});
    const std::vector<float> weights(ids.size(), 0.5F);
    const size_t n = ids.size(), words = move_table_words(kPlaces);
    std::vector<int32_t> in_slots(n), on_host(n), row_of(n), landed(2 * n), copies(2 * words), keepings(2 * words);
    LaneTables tables{in_slots, on_host, row_of, {}, {}, {}, {}};
    for (size_t t = 0; t < 2; ++t) {
      tables.landed[t] = std::span(landed).subspan(t * n, n);
      tables.copies[t] = std::span(copies).subspan(t * words, words);
      tables.keepings[t] = std::span(keepings).subspan(t * words, words);
    }
    lanes.decide({layer, 2, ids, weights, "gpu-only", false, {kSlots, kPlaces, 2, 0, true}}, tables);
    EXPECT_EQ(tables.copies[1][0], 0) << "nothing is copied in the turn of copies ahead";
    return {tables.landed[1][0], tables.landed[1][1]};
  }
  static std::vector<float> scores_of_prompt() {
    std::vector<float> scores;
    for (int token = 0; token < kPrompt; ++token) scores.insert(scores.end(), {5, 1, 9, 0});
    return scores;
  }
  static constexpr int kPrompt = 9;

  ResidentExperts residents_[3] = {{kExperts, kSlots}, {kExperts, kSlots}, {kExperts, kSlots}};
  const std::vector<float> two_and_zero_{5, 1, 9, 0};  // guesses experts 2 and 0
};

TEST_F(LanePrefetchTest, copies_a_guessed_expert_over_one_that_is_not_guessed) {
  LaneDecider lanes = decider(1e-9);
  decide(lanes, 0, {0, 1});
  const auto copy = lanes.next_ahead(guess_of(two_and_zero_));
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->expert, 2);
  EXPECT_EQ(copy->slot, 1) << "expert 0 is guessed, so expert 1 leaves";
  EXPECT_FALSE(residents_[1].is_resident(2)) << "not before the copy ends";
  EXPECT_TRUE(lanes.may_go_on(1));
  lanes.copied_ahead(1, *copy, kBytes, kBytes);
  EXPECT_EQ(residents_[1].slot_of()[2], 1);
  EXPECT_FALSE(lanes.next_ahead(guess_of(two_and_zero_))) << "all guessed experts have slots";
  decide(lanes, 1, {0, 2});
  EXPECT_EQ(lanes.of_text().useful_bytes, kBytes);
  EXPECT_EQ(lanes.of_text().wasted_bytes + lanes.of_text().late_bytes, 0u);
  EXPECT_EQ(lanes.of_text().evictions, 1);
}

TEST_F(LanePrefetchTest, counts_what_nobody_chose_as_wasted) {
  LaneDecider lanes = decider(1e-9);
  decide(lanes, 0, {0, 1});
  const auto copy = lanes.next_ahead(guess_of(two_and_zero_));
  ASSERT_TRUE(copy);
  lanes.copied_ahead(1, *copy, kBytes, kBytes);
  decide(lanes, 1, {0, 3});
  EXPECT_EQ(lanes.of_text().wasted_bytes, kBytes);
  EXPECT_EQ(lanes.of_text().useful_bytes, 0u);
}

TEST_F(LanePrefetchTest, ends_a_copy_when_its_layer_is_decided) {
  LaneDecider lanes = decider(1e-9);
  decide(lanes, 0, {0, 1});
  const auto copy = lanes.next_ahead(guess_of(two_and_zero_));
  ASSERT_TRUE(copy);
  decide(lanes, 1, {0, 2});
  EXPECT_FALSE(lanes.may_go_on(1));
  lanes.copied_ahead(1, *copy, 300, kBytes);
  EXPECT_EQ(lanes.of_text().late_bytes, 300u);
  EXPECT_FALSE(residents_[1].is_resident(2)) << "a part of an expert";
  EXPECT_EQ(residents_[1].in_slot()[static_cast<size_t>(copy->slot)], -1);
  EXPECT_FALSE(lanes.next_ahead(guess_of(two_and_zero_))) << "the guess is over";
  decide(lanes, 0, {0, 1});
  EXPECT_TRUE(lanes.may_go_on(1)) << "of the next pass";
}

// Even a whole copy is late then: another thread may have given its slot to somebody else.
TEST_F(LanePrefetchTest, leaves_a_whole_copy_that_came_too_late_out) {
  LaneDecider lanes = decider(1e-9);
  decide(lanes, 0, {0, 1});
  const auto copy = lanes.next_ahead(guess_of(two_and_zero_));
  ASSERT_TRUE(copy);
  decide(lanes, 1, {0, 2});
  lanes.copied_ahead(1, *copy, kBytes, kBytes);
  EXPECT_FALSE(residents_[1].is_resident(2));
  EXPECT_EQ(lanes.of_text().late_bytes, kBytes);
}

// The first pass shows that the layer is decided long before the hour that a copy takes.
TEST_F(LanePrefetchTest, begins_no_copy_that_would_end_behind_the_decision) {
  LaneDecider lanes = decider(3600);
  decide(lanes, 0, {0, 1});
  const auto copy = lanes.next_ahead(guess_of(two_and_zero_));
  ASSERT_TRUE(copy) << "nothing is known yet";
  decide(lanes, 1, {0, 1});
  lanes.copied_ahead(1, *copy, 0, kBytes);
  decide(lanes, 0, {0, 1});
  EXPECT_FALSE(lanes.next_ahead(guess_of(two_and_zero_)));
}

TEST_F(LanePrefetchTest, throws_out_no_guessed_expert) {
  LaneDecider lanes = decider(1e-9);
  decide(lanes, 0, {0, 1});
  // Two tokens guess experts 0 and 2, and 1 and 2: both experts with slots are guessed.
  const std::vector<float> scores{5, 1, 9, 0, 1, 5, 9, 0};
  EXPECT_FALSE(lanes.next_ahead({0, 1, 2, 2, scores, kExperts, "gpu-only"}));
  EXPECT_TRUE(residents_[1].is_resident(0) && residents_[1].is_resident(1));
}

TEST_F(LanePrefetchTest, compares_passes_with_and_without_copies_ahead) {
  LaneDecider lanes = decider(1e-9);
  EXPECT_EQ(lanes.prefetches(1, true, 1), 0) << "the link has not won yet";
  const auto passes = [&](int count, double with, double without) {
    int used = 0;
    for (int pass = 0; pass < count; ++pass) {
      const bool prefetches = lanes.prefetches(1, false, 1) > 0;
      used += prefetches;
      lanes.took({1, 2, false, true, true, prefetches}, prefetches ? with : without);
    }
    return used;
  };
  EXPECT_EQ(passes(4, 1, 2), 0);
  EXPECT_EQ(passes(100, 1, 2), 100) << "they win";
  EXPECT_EQ(lanes.of_text().passes_with_prefetch, 100);
  LaneDecider other = decider(1e-9);
  int used = 0;
  for (int pass = 0; pass < 400; ++pass) {
    const bool prefetches = other.prefetches(1, false, 1) > 0;
    used += prefetches;
    other.took({1, 2, false, true, true, prefetches}, prefetches ? 2 : 1);
  }
  EXPECT_LE(used, 24) << "two trials of twelve passes";
}

// Whichever layer is decided next asks for copies, which come first.
TEST_F(LanePrefetchTest, copies_for_layers_further_ahead_until_the_next_decision) {
  LaneDecider lanes = decider(1e-9);
  const GuessRequest two_ahead{0, 2, 2, 1, two_and_zero_, kExperts, "gpu-only"};
  decide(lanes, 0, {0, 1});
  const auto copy = lanes.next_ahead(two_ahead);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->expert, 2);
  EXPECT_TRUE(lanes.may_go_on(2));
  lanes.copied_ahead(2, *copy, kBytes, kBytes);
  EXPECT_TRUE(residents_[2].is_resident(2));
  decide(lanes, 1, {0, 1});
  EXPECT_FALSE(lanes.may_go_on(2));
  EXPECT_FALSE(lanes.next_ahead(two_ahead));
  EXPECT_EQ(lanes.of_text().useful_bytes + lanes.of_text().wasted_bytes, 0u) << "layer 2 has not chosen yet";
  decide(lanes, 2, {0, 2});
  EXPECT_EQ(lanes.of_text().useful_bytes, kBytes);

  decide(lanes, 0, {0, 1});
  const auto late = lanes.next_ahead({0, 2, 2, 1, std::vector<float>{0, 5, 0, 9}, kExperts, "gpu-only"});
  ASSERT_TRUE(late);
  decide(lanes, 1, {0, 1});
  lanes.copied_ahead(2, *late, 300, kBytes);
  EXPECT_EQ(lanes.of_text().late_bytes, 300u);
  EXPECT_FALSE(residents_[2].is_resident(late->expert));
}

TEST_F(LanePrefetchTest, copies_ahead_of_a_prompt_to_a_landing_and_leaves_the_slots) {
  LaneDecider lanes = decider(1e-9);
  const std::vector<float> scores = scores_of_prompt();
  const GuessRequest guess{0, 1, 2, kPrompt, scores, kExperts, "gpu-only"};
  lanes.begin_pass();
  decide_prompt(lanes, 0, 0, 1);
  const auto copy = lanes.next_ahead(guess);
  ASSERT_TRUE(copy);
  EXPECT_EQ(*copy, (CopyAhead{2, 0}));
  lanes.copied_ahead(1, *copy, kBytes, kBytes);
  EXPECT_FALSE(lanes.next_ahead(guess)) << "the other guessed expert has a slot";
  EXPECT_EQ(decide_prompt(lanes, 1, 2, 0), (std::vector<int32_t>{0, kElsewhere}));
  const LaneTotals& prompts = lanes.of_prompts();
  EXPECT_EQ(prompts.useful_bytes, kBytes);
  EXPECT_EQ(prompts.ahead_experts, 1);
  EXPECT_EQ(prompts.landed_experts, 1);
  EXPECT_TRUE(residents_[1].is_resident(0) && residents_[1].is_resident(1));
  EXPECT_FALSE(residents_[1].is_resident(2));
  EXPECT_EQ(lanes.of_text().evictions, 0);
  EXPECT_EQ(decide_prompt(lanes, 2, 2, 0), (std::vector<int32_t>{kElsewhere, kElsewhere})) << "another layer";
}

// Layers share the landings, so a pass that failed leaves nothing on them.
TEST_F(LanePrefetchTest, forgets_what_a_failed_prompt_copied_ahead) {
  LaneDecider lanes = decider(1e-9);
  const std::vector<float> scores = scores_of_prompt();
  const GuessRequest guess{0, 1, 2, kPrompt, scores, kExperts, "gpu-only"};
  decide_prompt(lanes, 0, 0, 1);
  const auto copy = lanes.next_ahead(guess);
  ASSERT_TRUE(copy);
  lanes.copied_ahead(1, *copy, kBytes, kBytes);
  lanes.begin_pass();
  EXPECT_FALSE(lanes.may_go_on(1));
  EXPECT_EQ(decide_prompt(lanes, 1, 2, 0), (std::vector<int32_t>{kElsewhere, kElsewhere}));
  EXPECT_EQ(lanes.of_prompts().ahead_experts, 0);
}

// Seconds of a pass by the layers that it looks ahead.
TEST_F(LanePrefetchTest, looks_as_far_ahead_as_pays) {
  for (const int64_t tokens : {1, 100})
    for (const auto& [none, one, three, wanted] :
         {std::tuple{3, 2, 1, 3}, std::tuple{3, 2, 4, 1}, std::tuple{1, 2, 3, 0}, std::tuple{1, 2, 2, 0}}) {
      LaneDecider lanes = decider(1e-9);
      std::map<int64_t, int> passes;
      for (int pass = 0; pass < 400; ++pass) {
        const int64_t ahead = lanes.prefetches(tokens, false, 3);
        ++passes[ahead];
        lanes.took({tokens, 2, false, true, true, ahead, 3}, ahead == 0 ? none : ahead == 1 ? one : three);
      }
      EXPECT_GT(passes[wanted], 300) << tokens << " tokens, " << wanted << " layers";
    }
  EXPECT_EQ(decider(1e-9).prefetches(1, false, 0), 0);
}

// Expert 0 has a slot, and the host computes expert 3. It takes the slot of expert 1, which nobody chose.
TEST_F(LanePrefetchTest, inserts_what_the_host_computed_if_misses_are_inserted) {
  LaneDecider lanes = decider(1e-9);
  EXPECT_EQ(decide(lanes, 0, {0, 3}, "fixed", 2), (std::vector<int32_t>{1, 3, 1, 3}));
  EXPECT_EQ(decide(lanes, 1, {0, 1}, "fixed", 2), (std::vector<int32_t>{0})) << "nothing is missing";
  EXPECT_EQ(decide(lanes, 1, {2, 3, 0, 1}, "fixed", 2), (std::vector<int32_t>{0})) << "every slot is in use";
}

// A slow GPU leaves one of its two experts to the host.
TEST_F(LanePrefetchTest, inserts_no_expert_that_has_a_slot) {
  LaneDecider lanes = decider(1e-9, 100);
  EXPECT_EQ(decide(lanes, 0, {0, 1}, "no-transfer", 2), (std::vector<int32_t>{0}));
  EXPECT_EQ(lanes.of_text().host_experts, 1);
}

TEST_F(LanePrefetchTest, sums_what_measured_passes_took) {
  LaneDecider lanes = decider(1e-9);
  lanes.begin_pass();
  decide(lanes, 0, {0, 1});
  lanes.learn({.gpu = 1, .host = 2, .link = 3, .experts = 4, .stalls = 0.5}, 1, 5);
  const LaneTotals& text = lanes.of_text();
  EXPECT_EQ(text.measured_passes, 1);
  EXPECT_EQ(text.measured.experts, 4);
  EXPECT_EQ(text.measured.stalls, 0.5);
  EXPECT_EQ(text.measured_expected, text.expected_seconds);
  EXPECT_EQ(lanes.of_prompts().measured_passes, 0);
}

}  // namespace
}  // namespace tandem
