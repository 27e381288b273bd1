#include "engine/run/choice/contention.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(Contention, reads_what_was_stolen_from_the_cores_in_use) {
  const std::string stat =
      "cpu  900 0 90 9000 9 0 9 600 0 0\n"
      "cpu0 300 0 30 3000 3 0 3 150 0 0\n"
      "cpu1 300 0 30 3000 3 0 3 250 7 0\n"
      "cpu10 300 0 30 3000 3 0 3 200 0 0\n"
      "intr 5 1 2 3 4 5 6 7 8\n";
  EXPECT_DOUBLE_EQ(stolen_seconds_in(stat, std::vector{0, 1}, 100), 4);
  EXPECT_DOUBLE_EQ(stolen_seconds_in(stat, std::vector{1}, 250), 1);
  EXPECT_DOUBLE_EQ(stolen_seconds_in(stat, std::vector{10}, 100), 2) << "cpu1 is not cpu10";
  EXPECT_DOUBLE_EQ(stolen_seconds_in(stat, std::vector{2}, 100), 0);
  EXPECT_DOUBLE_EQ(stolen_seconds_in("cpu0 300 0 30 3000 3 0 3\n", std::vector{0}, 100), 0) << "of an old kernel";
  EXPECT_DOUBLE_EQ(stolen_seconds_in("cpu10 300 0 30 3000 3 0 3 200 0 0\n", std::vector{1}, 100), 0)
      << "cpu10 is not cpu1, which is switched off";
  EXPECT_DOUBLE_EQ(stolen_seconds_in("", std::vector{0}, 100), 0);
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
