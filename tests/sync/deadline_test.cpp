// Deadlines count the time in which this process ran.
#include "sync/deadline.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace tandem::sync {
namespace {

using std::chrono::milliseconds;

TEST(RunningTime, is_the_sum_of_the_times_between_looks) {
  const Clock::time_point begin;
  RunningTime time(begin);
  EXPECT_EQ(time.at(begin + milliseconds(300)), milliseconds(300));
  EXPECT_EQ(time.at(begin + milliseconds(500)), milliseconds(500));
}

TEST(RunningTime, cuts_what_lies_between_two_looks_to_two_seconds) {
  const Clock::time_point begin;
  RunningTime time(begin);
  EXPECT_EQ(time.at(begin + milliseconds(100)), milliseconds(100));
  EXPECT_EQ(time.at(begin + milliseconds(100'100)), milliseconds(2'100)) << "a stop of a hundred seconds";
  EXPECT_EQ(time.at(begin + milliseconds(100'500)), milliseconds(2'500));
}

TEST(Deadline, passes_behind_its_time) {
  Deadline deadline(milliseconds(30));
  EXPECT_FALSE(deadline.passed());
  std::this_thread::sleep_for(milliseconds(40));
  EXPECT_TRUE(deadline.passed());
  EXPECT_EQ(deadline.remaining(), milliseconds(1)) << "no call gets a time of zero";
}

TEST(Deadline, hands_out_slices_of_what_is_left) {
  EXPECT_LE(Deadline(milliseconds(30)).slice(), milliseconds(30));
  EXPECT_EQ(Deadline(milliseconds(60'000)).slice(), milliseconds(500));
}

// A child waits for three seconds in slices while it is stopped for four.
TEST(Deadline, does_not_pass_while_the_process_is_stopped) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Deadline deadline(milliseconds(3000));
    const auto begin = Clock::now();
    while (seconds_since(begin) < 4.5 && !deadline.passed()) std::this_thread::sleep_for(milliseconds(20));
    _exit(deadline.passed() ? 1 : 0);
  }
  std::this_thread::sleep_for(milliseconds(200));
  kill(child, SIGSTOP);
  std::this_thread::sleep_for(milliseconds(4000));
  kill(child, SIGCONT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "four seconds of a stop count as two at most";
}

}  // namespace
}  // namespace tandem::sync
