// Who computes which expert beside near-memory units (G3 to G5), on times that can be worked out by hand.
#include "engine/moe/near_memory_sides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tandem {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An expert has 12 bytes and 1 multiply-add for a token. It takes 1 on the GPU, 6 to move, and on each of two units 4
// to read and 2 for a token: so 2 for up to two tokens on both units, and 1 for each token beyond.
// Activations are free.
NearMemoryMachine machine() {
  NearMemoryMachine machine;
  machine.rates = {12, 1, 12, 1e9, 3, 0.5};
  machine.times = {.units = 2, .gpu_expert = 1, .unit_expert = 2, .move_expert = 6, .move_activation = 0};
  machine.host_expert = 5;
  machine.experts = 6, machine.top_k = 2, machine.most_resident = 4;
  return machine;
}
constexpr NearMemoryRules kAll{UnitShape::together, true, true}, kTogether{UnitShape::together, false, false},
    kBalanced{UnitShape::together, true, false}, kWhole{UnitShape::whole, true, false};

TEST(NearMemorySides, of_a_text_are_the_units_alone_without_balance_and_prefetch) {
  const std::vector<int64_t> loads{0, 1, 0, 1, 0, 0};
  const SideChoice choice = sides_of_text(loads, machine(), kTogether, {});
  EXPECT_THAT(choice.sides, ElementsAre(0, 1, 0, 1, 0, 0));
  EXPECT_THAT(choice.moved, IsEmpty());
  EXPECT_THAT(choice.seconds, DoubleEq(2 + 2));
}

// Eq. 1 for four experts: m = 0: f = 2 * 4 / (6 + 2 + 1/2) = 0.94. One on the GPU takes 6 + 1 = 7, the units' others 6;
// none on the GPU takes 8. For two experts: 0.47; one on the GPU takes 7 and none takes 4.
TEST(NearMemorySides, of_a_text_move_the_whole_neighbour_of_equation_1_that_ends_sooner) {
  const SideChoice four = sides_of_text(std::vector<int64_t>{1, 1, 0, 1, 1, 0}, machine(), kBalanced, {});
  EXPECT_THAT(four.sides, ElementsAre(0, 1, 0, 1, 1, 0));
  EXPECT_THAT(four.moved, ElementsAre(0)) << "of equal loads the lowest id";
  EXPECT_THAT(four.seconds, DoubleEq(7));
  const SideChoice two = sides_of_text(std::vector<int64_t>{0, 1, 1, 0, 0, 0}, machine(), kBalanced, {});
  EXPECT_THAT(two.moved, IsEmpty());
  EXPECT_THAT(two.seconds, DoubleEq(4));
}

// Eq. 3 for four experts: 4 * 2 / (1 + 2) = 2.67, so 2 of the three that are held.
TEST(NearMemorySides, of_a_text_leave_held_experts_to_the_gpu_up_to_the_bound) {
  const std::vector<bool> held{true, true, true, false, false, false};
  const SideChoice choice = sides_of_text(std::vector<int64_t>{1, 1, 2, 1, 0, 0}, machine(), kAll, held);
  EXPECT_THAT(choice.sides, ElementsAre(0, 1, 0, 1, 0, 0)) << "experts 2 and 0: the highest load, then the lowest id";
  EXPECT_THAT(choice.moved, IsEmpty());
  EXPECT_THAT(choice.seconds, DoubleEq(4)) << "two on the units";
  const SideChoice no_hit = sides_of_text(std::vector<int64_t>{0, 0, 0, 1, 1, 0}, machine(), kAll, held);
  EXPECT_THAT(no_hit.sides, ElementsAre(0, 0, 0, 1, 1, 0)) << "then Eq. 1";
}

// Loads 9, 2, 1: on the units 9 + 2 + 2 = 13. The first on the GPU: 6 + 1 = 7 beside 4.
TEST(NearMemorySides, of_a_prompt_follow_its_own_counts) {
  const std::vector<int64_t> loads{2, 0, 9, 0, 1, 0};
  const SideChoice choice = sides_of_prompt(loads, 16, machine(), kAll, UnitPrompts::counts);
  EXPECT_THAT(choice.sides, ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_THAT(choice.moved, ElementsAre(2));
  EXPECT_THAT(choice.seconds, DoubleEq(7));
  EXPECT_THAT(sides_of_prompt(loads, 16, machine(), kTogether, UnitPrompts::counts).seconds, DoubleEq(13));
}

// Eq. 1 for two experts gives 0.47 of 2, so a share of 0.235 of 12 tokens: 2.82. An expert with 9 has its half beyond
// that, so nothing is moved; of loads 4, 4, 4 one half of the first is 2.
TEST(NearMemorySides, of_a_prompt_take_a_share_where_that_is_asked_for) {
  const auto moved = [](const std::vector<int64_t>& loads) {
    return sides_of_prompt(loads, 16, machine(), kAll, UnitPrompts::share).moved;
  };
  EXPECT_THAT(moved({2, 0, 9, 0, 1, 0}), IsEmpty());
  EXPECT_THAT(moved({4, 4, 0, 0, 4, 0}), ElementsAre(0));
}

// Experts 0, 2, 4 lie in unit 0, experts 1, 3, 5 in unit 1. A unit takes 4 for one token of each expert. Experts 0, 2
// and 3: 8. Expert 0 on the GPU: 7 beside 4 and 4. Two on the GPU: 6 + 6 + 1 = 13.
TEST(NearMemorySides, of_monde_take_experts_from_the_busiest_unit) {
  const SideChoice choice = sides_of_text(std::vector<int64_t>{1, 0, 1, 1, 0, 0}, machine(), kWhole, {});
  EXPECT_THAT(choice.sides, ElementsAre(0, 0, 1, 2, 0, 0));
  EXPECT_THAT(choice.moved, ElementsAre(0));
  EXPECT_THAT(choice.seconds, DoubleEq(7));
  const SideChoice prompt =
      sides_of_prompt(std::vector<int64_t>{10, 0, 10, 10, 0, 0}, 16, machine(), kWhole, UnitPrompts::counts);
  EXPECT_THAT(prompt.moved, IsEmpty());
  EXPECT_THAT(prompt.seconds, DoubleEq(20 + 20)) << "ten tokens take 10 / 0.5";
}

TEST(NearMemorySides, of_fiddler_and_on_demand_are_the_host_and_the_gpu) {
  const std::vector<int64_t> loads{0, 1, 0, 1, 0, 0};
  EXPECT_THAT(sides_of_text(loads, machine(), {UnitShape::processor, false, false}, {}).sides,
              ElementsAre(0, 1, 0, 1, 0, 0));
  EXPECT_THAT(sides_of_text(loads, machine(), {UnitShape::processor, false, false}, {}).seconds, DoubleEq(10));
  const SideChoice moved = sides_of_text(loads, machine(), {UnitShape::none, false, false}, {});
  EXPECT_THAT(moved.sides, ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(moved.seconds, DoubleEq(6 + 6 + 1)) << "the first is computed while the second is moved";
  EXPECT_THAT(sides_of_prompt(loads, 16, machine(), {UnitShape::processor, false, false}, UnitPrompts::counts).sides,
              ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(NearMemorySides, hold_what_a_prompt_chose_most) {
  EXPECT_THAT(most_used(std::vector<int64_t>{3, 0, 7, 3}, 2), ElementsAre(true, false, true, false));
  EXPECT_THAT(most_used(std::vector<int64_t>{0, 1}, 2), ElementsAre(false, true)) << "nobody chose expert 0";
  EXPECT_THAT(most_used(std::vector<int64_t>{1, 1}, 0), ElementsAre(false, false));
}

std::vector<int32_t> divided(NearMemorySides& sides, const std::vector<int64_t>& loads) {
  std::vector<int32_t> found(loads.size(), 7);
  const int64_t choices = std::accumulate(loads.begin(), loads.end(), int64_t{0});
  sides.divide({0, choices / 2, 2, loads}, found);
  return found;
}

TEST(NearMemorySides, prefetch_between_a_prompt_and_its_text_and_count_the_copies) {
  NearMemorySides sides(machine(), kAll, {});
  divided(sides, {10, 2, 12, 4, 2, 2});
  divided(sides, {10, 2, 2, 14, 2, 2});  // the second chunk: 20, 4, 14, 18, 4, 4
  EXPECT_EQ(sides.of_text().prefetched, 0);
  EXPECT_THAT(divided(sides, {1, 1, 0, 0, 0, 0}), ElementsAre(0, 1, 0, 0, 0, 0)) << "experts 0 and 3 are held";
  EXPECT_EQ(sides.of_text().prefetched, 2);
  EXPECT_DOUBLE_EQ(sides.of_text().copy_seconds, 2 * 6);
  EXPECT_EQ(sides.of_text().hits, 1);
  divided(sides, {1, 0, 0, 1, 0, 0});
  EXPECT_EQ(sides.of_text().prefetched, 2) << "once for a prompt";
  // A new prompt forgets the one before.
  divided(sides, {2, 20, 2, 2, 4, 2});
  EXPECT_THAT(divided(sides, {1, 1, 0, 0, 0, 0}), ElementsAre(1, 0, 0, 0, 0, 0)) << "experts 1 and 4 are held";
  EXPECT_EQ(sides.of_text().prefetched, 4);
}

TEST(NearMemorySides, fill_the_memory_of_the_gpu_where_that_is_asked_for) {
  UnitOptions fill;
  fill.prefetch = UnitPrefetch::fill;
  NearMemorySides sides(machine(), kAll, fill);
  divided(sides, {10, 2, 12, 4, 2, 2});
  divided(sides, {1, 1, 0, 0, 0, 0});
  EXPECT_EQ(sides.of_text().prefetched, 4) << "as many as fit";
}

// 100 of 132 bytes are free, and an expert of 12 in two layers takes 24.
TEST(NearMemorySides, know_how_many_experts_fit_the_gpu) {
  const NearMemoryModel model{.experts = 6,
                              .top_k = 2,
                              .layers = 2,
                              .expert_bytes = 12,
                              .expert_macs = 1,
                              .other_bytes = 32,
                              .activation_bytes = 1};
  const NearMemoryCard card{.link_bytes_per_second = 2,
                            .bytes_per_second = 12,
                            .macs_per_second = 1e9,
                            .memory_bytes = 132,
                            .unit_bytes_per_second = 3,
                            .unit_macs_per_second = 0.5,
                            .host_bytes_per_second = 4};
  const NearMemoryMachine found = near_memory_machine(model, card, 2);
  EXPECT_EQ(found.most_resident, 4);
  EXPECT_DOUBLE_EQ(found.times.gpu_expert, 1);
  EXPECT_DOUBLE_EQ(found.times.unit_expert, 2);
  EXPECT_DOUBLE_EQ(found.times.move_expert, 6);
  EXPECT_DOUBLE_EQ(found.times.move_activation, 0.5);
  EXPECT_DOUBLE_EQ(found.host_expert, 3);
}

}  // namespace
}  // namespace tandem
