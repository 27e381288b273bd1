#include "engine/run/contention.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Contention, reads_what_a_thread_ran_and_waited) {
  const auto seconds = core_seconds_in("2500000000 40000000 1234\n");
  ASSERT_TRUE(seconds.has_value());
  EXPECT_DOUBLE_EQ(seconds->ran, 2.5);
  EXPECT_DOUBLE_EQ(seconds->waited, 0.04);
  EXPECT_FALSE(core_seconds_in("").has_value());
  EXPECT_FALSE(core_seconds_in("2500000000").has_value());
  EXPECT_FALSE(core_seconds_in("no numbers\n").has_value());
}

TEST(Contention, is_waiting_for_more_than_a_quarter_of_the_time_run) {
  const CoreSeconds before{10, 3};
  EXPECT_FALSE(were_contended(before, {11, 3.25})) << "0.25 s of 1 s";
  EXPECT_TRUE(were_contended(before, {11, 3.26}));
  EXPECT_FALSE(were_contended(before, before)) << "nothing ran, nothing waited";
}

TEST(Contention, counts_what_this_process_ran) {
  const auto before = core_seconds();
  if (!before) GTEST_SKIP() << "this system does not say what threads waited for";
  volatile double sum = 0;
  for (int i = 0; i < 20'000'000; ++i) sum = sum + i;
  const auto after = core_seconds();
  ASSERT_TRUE(after.has_value());
  EXPECT_GT(after->ran, before->ran);
  EXPECT_GE(after->waited, before->waited);
}

}  // namespace
}  // namespace tandem
