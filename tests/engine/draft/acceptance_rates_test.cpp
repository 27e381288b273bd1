#include "engine/draft/acceptance_rates.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem {
namespace {

constexpr DraftClass kShort{DraftSource::context, 1, DraftPlace::newest},
    kLong{DraftSource::context, 20, DraftPlace::once};

TEST(LengthClass, doubles) {
  EXPECT_EQ(length_class_of(0), 0);
  EXPECT_EQ(length_class_of(1), 0);
  EXPECT_EQ(length_class_of(2), 1);
  EXPECT_EQ(length_class_of(3), 2);
  EXPECT_EQ(length_class_of(4), 2);
  EXPECT_EQ(length_class_of(5), 3);
  EXPECT_EQ(length_class_of(8), 3);
  EXPECT_EQ(length_class_of(9), 4);
  EXPECT_EQ(length_class_of(32), 5);
  EXPECT_EQ(length_class_of(33), 6);
  EXPECT_EQ(length_class_of(100000), 6);
}

TEST(AcceptanceRates, trust_long_matches_before_anything_was_tried) {
  const AcceptanceRates rates;
  EXPECT_LT(rates.probability(kShort), 0.3);
  EXPECT_GT(rates.probability(kLong), 0.9);
}

// Eight trials stand for the prior of 0.09: (8 * 0.09 + 8) / 16 = 0.545.
TEST(AcceptanceRates, move_with_each_trial) {
  AcceptanceRates rates;
  for (int i = 0; i < 8; ++i) rates.add(kShort, true);
  EXPECT_NEAR(rates.probability(kShort), 0.545, 1e-9);
  EXPECT_GT(rates.probability(kLong), 0.9) << "other classes stay";
}

TEST(AcceptanceRates, forget_old_trials) {
  AcceptanceRates rates;
  for (int i = 0; i < 10000; ++i) rates.add(kShort, true);
  EXPECT_GT(rates.probability(kShort), 0.99);
  for (int i = 0; i < 300; ++i) rates.add(kShort, false);
  EXPECT_LT(rates.probability(kShort), 0.15);
}

TEST(AcceptanceRates, never_become_certain) {
  AcceptanceRates rates;
  for (int i = 0; i < 100000; ++i) rates.add(kShort, true);
  EXPECT_LT(rates.probability(kShort), 1);
  for (int i = 0; i < 100000; ++i) rates.add(kShort, false);
  EXPECT_GT(rates.probability(kShort), 0);
}

TEST(AcceptanceRates, are_what_was_kept_of_them) {
  AcceptanceRates rates, kept;
  for (int i = 0; i < 50; ++i) rates.add(kShort, i % 2 == 0);
  kept.set_counts(rates.counts());
  EXPECT_EQ(kept.probability(kShort), rates.probability(kShort));
}

TEST(AcceptanceRates, refuse_counts_that_cannot_be) {
  AcceptanceRates rates;
  const double before = rates.probability(kShort);
  std::vector<AcceptanceRates::Counts> counts(rates.counts().begin(), rates.counts().end());
  counts[3] = {10, 11};
  rates.set_counts(counts);
  counts[3] = {1e9, 5};
  rates.set_counts(counts);
  counts.pop_back();
  rates.set_counts(counts);
  EXPECT_EQ(rates.probability(kShort), before);
}

}  // namespace
}  // namespace tandem
