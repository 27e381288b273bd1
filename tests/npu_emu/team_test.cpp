// The threads that share one command of the NPU. The test runs under the thread sanitizer with 1, 2 and 4 threads.
#include "npu_emu/team.h"

#include <gtest/gtest.h>

#include <numeric>

#include "sync/error.h"

namespace tandem::npu_emu {
namespace {

TEST(Team, gives_every_part_once_and_sees_what_the_parts_wrote) {
  for (const int threads : {1, 2, 4}) {
    Team team(std::vector<int>(static_cast<size_t>(threads - 1), 0));
    ASSERT_EQ(threads, team.size());
    std::vector<int> counts(static_cast<size_t>(threads));
    for (int round = 1; round <= 300; ++round) {
      team.run([&](int part) { ++counts[static_cast<size_t>(part)]; });
      EXPECT_EQ(round * threads, std::accumulate(counts.begin(), counts.end(), 0));
      // Some pauses are longer than the helpers spin, so that they fall asleep and must be woken.
      if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    for (const int count : counts) EXPECT_EQ(300, count);
  }
}

TEST(Team, throws_what_a_part_threw_and_works_on) {
  Team team({0, 0});
  for (int broken = 0; broken < 3; ++broken) {
    EXPECT_THROW(team.run([&](int part) {
      if (part == broken) throw Error("part broke", std::to_string(part));
    }),
                 Error);
    std::vector<int> done(3);
    team.run([&](int part) { done[static_cast<size_t>(part)] = 1; });
    EXPECT_EQ((std::vector<int>{1, 1, 1}), done);
  }
}

TEST(Team, refuses_cores_that_do_not_exist) {
  EXPECT_THROW(Team({100000}), Error);
  EXPECT_THROW(Team({-1}), Error);
}

}  // namespace
}  // namespace tandem::npu_emu
