#include "sync/cycle_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "sync/error.h"

namespace tandem::sync {
namespace {

TEST(CycleClock, interpolates_between_two_ties_and_goes_on_beyond_them) {
  const ClockTie before{1000, 10.0}, after{3000, 11.0};
  EXPECT_DOUBLE_EQ(seconds_of(1000, before, after), 10.0);
  EXPECT_DOUBLE_EQ(seconds_of(2500, before, after), 10.75);
  EXPECT_DOUBLE_EQ(seconds_of(3000, before, after), 11.0);
  EXPECT_DOUBLE_EQ(seconds_of(0, before, after), 9.5);
  EXPECT_DOUBLE_EQ(seconds_of(5000, before, after), 12.0);
}

TEST(CycleClock, has_no_rate_between_a_tie_and_itself) {
  const ClockTie tie{1000, 10.0};
  EXPECT_THROW(seconds_of(1000, tie, tie), Error);
}

TEST(CycleClock, agrees_with_the_steady_clock_about_what_came_first) {
  if (!cycle_counter_usable()) GTEST_SKIP() << "skipped: no invariant cycle counter";
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const ClockTie before = tie_clocks();
  const double earlier = now();
  const uint64_t cycles = read_cycles();
  const double later = now();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const ClockTie after = tie_clocks();
  constexpr double kTieError = 2e-6;  // seconds; a tie lies between two readings that an interruption may spread
  EXPECT_GE(seconds_of(cycles, before, after), earlier - kTieError);
  EXPECT_LE(seconds_of(cycles, before, after), later + kTieError);
  EXPECT_LT(before.cycles, cycles);
  EXPECT_LT(cycles, after.cycles);
}

TEST(CycleClock, rises_from_thread_to_thread) {
  if (!cycle_counter_usable()) GTEST_SKIP() << "skipped: no invariant cycle counter";
  for (int i = 0; i < 100; ++i) {
    const uint64_t before = read_cycles();
    uint64_t there = 0;
    std::thread([&] { there = read_cycles(); }).join();
    EXPECT_LT(before, there);
    EXPECT_LT(there, read_cycles());
  }
}

}  // namespace
}  // namespace tandem::sync
