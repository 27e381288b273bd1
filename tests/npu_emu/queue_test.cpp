// The command queue and its team of threads; run under the thread sanitizer with 1, 2 and 4 threads.
#include "npu_emu/queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "sync/error.h"

namespace tandem::npu_emu {
namespace {

constexpr std::chrono::seconds kLong{30};

TEST(CommandQueue, runs_commands_in_the_order_they_were_pushed) {
  CommandQueue queue({});
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) queue.push([&order, i](Team&) { order.push_back(i); });
  ASSERT_TRUE(queue.drain(kLong));
  std::vector<int> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(expected, order);
}

TEST(CommandQueue, does_not_block_the_pusher_and_tells_a_deadline) {
  CommandQueue queue({});
  std::mutex gate;
  gate.lock();
  queue.push([&gate](Team&) { std::lock_guard wait(gate); });
  EXPECT_FALSE(queue.drain(std::chrono::milliseconds(20)));
  gate.unlock();
  EXPECT_TRUE(queue.drain(kLong));
}

TEST(CommandQueue, does_not_start_what_is_pushed_while_it_is_held) {
  CommandQueue queue({});
  std::atomic<int> ran = 0;
  queue.hold(true);
  for (int i = 0; i < 3; ++i) queue.push([&ran](Team&) { ++ran; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(0, ran);
  queue.hold(false);
  ASSERT_TRUE(queue.drain(kLong));
  EXPECT_EQ(3, ran);
  queue.hold(true);
  queue.push([&ran](Team&) { ++ran; });
  EXPECT_TRUE(queue.drain(kLong)) << "draining ends the hold";
}

TEST(CommandQueue, runs_what_is_left_before_it_ends) {
  int ran = 0;
  {
    CommandQueue queue({});
    for (int i = 0; i < 50; ++i) queue.push([&ran](Team&) { ++ran; });
  }
  EXPECT_EQ(50, ran);
}

TEST(CommandQueue, takes_commands_from_several_threads) {
  CommandQueue queue({});
  int ran = 0;
  std::vector<std::thread> pushers;
  for (int t = 0; t < 4; ++t) {
    pushers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) queue.push([&ran](Team&) { ++ran; });
    });
  }
  for (std::thread& pusher : pushers) pusher.join();
  ASSERT_TRUE(queue.drain(kLong));
  EXPECT_EQ(800, ran);
}

TEST(CommandQueue, gives_every_part_once_and_sees_what_the_parts_wrote) {
  for (const int threads : {1, 2, 4}) {
    CommandQueue queue(std::vector<int>(static_cast<size_t>(threads), 0));
    ASSERT_EQ(threads, queue.threads());
    std::vector<int> counts(static_cast<size_t>(threads));
    int total = 0;
    for (int round = 0; round < 300; ++round) {
      queue.push([&](Team& team) {
        team.run([&](int part) { ++counts[static_cast<size_t>(part)]; });
        total = std::accumulate(counts.begin(), counts.end(), 0);
      });
      // A pause longer than the helpers' spin now and then, so that they fall asleep and are woken.
      if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ASSERT_TRUE(queue.drain(kLong));
    EXPECT_EQ(300 * threads, total);
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
  EXPECT_THROW(CommandQueue({100000}), Error);
}

}  // namespace
}  // namespace tandem::npu_emu
