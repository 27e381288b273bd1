#include "engine/moe/near_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const NearMemoryTimes kTwoUnits{
    .units = 2, .gpu_expert = 1, .unit_expert = 4, .move_expert = 6, .move_activation = 0.5};

// The terms of Eq. 1 and 2, with the fraction of E_g in (0, 1]: left less right.
double out_of_balance(const NearMemoryTimes& times, const ExpertBalance& balance, double S) {
  const double N = static_cast<double>(times.units);
  const double fraction = balance.on_gpu - (std::ceil(balance.on_gpu) - 1);
  return times.move_expert * balance.on_gpu + times.gpu_expert * fraction / N + (S - 1) * times.move_activation * N -
         (N + 1) * times.move_activation - times.unit_expert * balance.on_units;
}

// 6 + 4 + 1/2 = 10.5. m = 0: (1.5 + 16) / 10.5 > 1. m = 1: (1.5 + 12 - 6) / 10.5 = 0.714286.
TEST(NearMemory, balances_decoding_by_equation_1) {
  const ExpertBalance balance = decode_balance(kTwoUnits, 4);
  EXPECT_NEAR(balance.on_gpu, 1.7142857, 1e-7);
  EXPECT_NEAR(balance.on_units, 2.2857143, 1e-7);
  EXPECT_NEAR(out_of_balance(kTwoUnits, balance, 1), 0, 1e-12);
}

// S = 5 takes 4 * 0.5 * 2 = 4 off. m = 0: 13.5 / 10.5 > 1. m = 1: 3.5 / 10.5 = 1/3.
TEST(NearMemory, balances_a_prompt_by_equation_2_as_it_is_written) {
  const ExpertBalance balance = prefill_balance(kTwoUnits, 4, 5);
  EXPECT_NEAR(balance.on_gpu, 4.0 / 3, 1e-12);
  EXPECT_NEAR(out_of_balance(kTwoUnits, balance, 5), 0, 1e-12);
  EXPECT_EQ(prefill_balance(kTwoUnits, 4, 1).on_gpu, decode_balance(kTwoUnits, 4).on_gpu) << "Eq. 2 at S = 1 is Eq. 1";
}

// S = 20 takes 19 off the 17.5.
TEST(NearMemory, leaves_the_gpu_nothing_where_activations_alone_take_longer) {
  const ExpertBalance none = prefill_balance(kTwoUnits, 4, 20);
  EXPECT_EQ(none.on_gpu, 0);
  EXPECT_EQ(none.on_units, 4);
}

// Two moves of activations take 20, and two experts on the GPU 0.2 + 1.
TEST(NearMemory, gives_the_gpu_everything_where_units_cannot_end_first) {
  const NearMemoryTimes slow{
      .units = 1, .gpu_expert = 1, .unit_expert = 100, .move_expert = 0.1, .move_activation = 10};
  const ExpertBalance all = decode_balance(slow, 2);
  EXPECT_EQ(all.on_gpu, 2);
  EXPECT_EQ(all.on_units, 0);
}

// 5 + 2 + 1 = 8 = 2 * 2 + 2 * 2, so one whole expert balances: its last N-th is not hidden.
TEST(NearMemory, takes_a_whole_expert_as_a_fraction_of_one) {
  const NearMemoryTimes whole{.units = 1, .gpu_expert = 1, .unit_expert = 2, .move_expert = 5, .move_activation = 2};
  EXPECT_EQ(decode_balance(whole, 2).on_gpu, 1);
  EXPECT_NEAR(out_of_balance(whole, decode_balance(whole, 2), 1), 0, 1e-12);
}

TEST(NearMemory, balances_every_case_that_has_a_solution) {
  int solved = 0;
  for (int64_t units = 1; units <= 6; ++units)
    for (const double gpu : {0.01, 0.3, 2.0})
      for (const double unit : {0.2, 1.0, 7.0})
        for (const double move : {0.1, 1.0, 9.0})
          for (int64_t k = 1; k <= 8; ++k) {
            const NearMemoryTimes times{units, gpu, unit, move, 0.01};
            const ExpertBalance balance = decode_balance(times, k);
            EXPECT_NEAR(balance.on_gpu + balance.on_units, static_cast<double>(k), 1e-9);
            if (balance.on_gpu <= 0 || balance.on_gpu >= static_cast<double>(k)) continue;
            EXPECT_NEAR(out_of_balance(times, balance, 1), 0, 1e-9);
            ++solved;
          }
  EXPECT_GT(solved, 500);
}

TEST(NearMemory, shares_a_prompts_work_as_decoding_shares_a_token) {
  EXPECT_NEAR(prefill_share(kTwoUnits, 4), 1.7142857 / 4, 1e-7);
}

// (4 * 4 + 3 * 0.5) / (1 + 4) = 3.5.
TEST(NearMemory, bounds_the_experts_on_the_gpu_by_equation_3) {
  EXPECT_DOUBLE_EQ(gpu_expert_bound(kTwoUnits, 4).real, 3.5);
  EXPECT_EQ(gpu_expert_bound(kTwoUnits, 4).used, 3);
  NearMemoryTimes slow = kTwoUnits;
  slow.gpu_expert = 100;
  EXPECT_LT(gpu_expert_bound(slow, 4).real, 1);
  EXPECT_EQ(gpu_expert_bound(slow, 4).used, 1) << "one at least";
  slow = kTwoUnits;
  slow.move_activation = 10;
  EXPECT_DOUBLE_EQ(gpu_expert_bound(slow, 4).real, 9.2);
  EXPECT_EQ(gpu_expert_bound(slow, 4).used, 4) << "all at most";
}

// The GPU takes 1 for each expert and a move 3. The units take max(4 / 2, n): 8, 2 and 2. Activations: 1.5 + 1.
const NearMemoryRates kRates{.expert_bytes = 4,
                             .expert_macs = 1,
                             .gpu_bytes_per_second = 4,
                             .gpu_macs_per_second = 8,
                             .unit_bytes_per_second = 1,
                             .unit_macs_per_second = 0.5};

// m = 0: 12 + 2.5. m = 1: max(4, 4 + 2.5). m = 2: max(7, 2 + 2.5). m = 3: 10.
TEST(NearMemory, splits_a_prompt_by_the_tokens_of_each_expert) {
  NearMemoryTimes times = kTwoUnits;
  times.move_expert = 3;
  const std::vector<int64_t> loads{1, 8, 2};
  const CountedSplit split = split_by_counts(loads, times, kRates, 2);
  EXPECT_THAT(split.on_gpu, ElementsAre(1));
  EXPECT_DOUBLE_EQ(split.seconds, 6.5);
}

// m = 0: 4 + 2.5. m = 1: max(5.5 + 1, 2 + 2.5).
TEST(NearMemory, moves_the_fewest_experts_of_equal_times) {
  NearMemoryTimes times = kTwoUnits;
  times.move_expert = 5.5;
  const std::vector<int64_t> loads{1, 1};
  EXPECT_THAT(split_by_counts(loads, times, kRates, 2).on_gpu, IsEmpty());
  EXPECT_DOUBLE_EQ(split_by_counts(loads, times, kRates, 2).seconds, 6.5);
  times.move_expert = 5;
  EXPECT_THAT(split_by_counts(loads, times, kRates, 2).on_gpu, ElementsAre(0)) << "of equal loads the lower id";
}

// Without the units no activation is moved to them: 1 + 1 for one expert, where the units would take 2 + 2.5.
TEST(NearMemory, moves_no_activations_to_idle_units) {
  NearMemoryTimes times = kTwoUnits;
  times.move_expert = 1;
  const std::vector<int64_t> loads{1};
  EXPECT_DOUBLE_EQ(split_by_counts(loads, times, kRates, 2).seconds, 2);
}

TEST(NearMemory, refuses_an_expert_without_tokens) {
  const std::vector<int64_t> loads{1, 0};
  EXPECT_THROW(split_by_counts(loads, kTwoUnits, kRates, 2), Error);
}

TEST(NearMemory, cuts_an_expert_into_features_of_all_units) {
  EXPECT_THAT(features_of_units(1408, 3), ElementsAre(470, 469, 469));
  EXPECT_THAT(features_of_units(2, 3), ElementsAre(1, 1, 0));
  EXPECT_TRUE(units_hold(3, 32, 96));
  EXPECT_FALSE(units_hold(2, 32, 64.1));
}

}  // namespace
}  // namespace tandem
