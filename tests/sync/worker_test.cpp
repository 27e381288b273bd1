// The thread that runs pushed jobs. The test runs under the thread sanitizer.
#include "sync/worker.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include "sync/error.h"

namespace tandem::sync {
namespace {

constexpr std::chrono::seconds kLong{30};

TEST(Worker, runs_jobs_in_the_order_they_were_pushed) {
  Worker worker;
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) worker.push([&order, i] { order.push_back(i); });
  ASSERT_TRUE(worker.drain(kLong));
  std::vector<int> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(expected, order);
}

TEST(Worker, does_not_block_the_pusher_and_tells_a_deadline) {
  Worker worker;
  std::mutex gate;
  gate.lock();
  worker.push([&gate] { std::lock_guard wait(gate); });
  EXPECT_FALSE(worker.drain(std::chrono::milliseconds(20)));
  gate.unlock();
  EXPECT_TRUE(worker.drain(kLong));
}

TEST(Worker, runs_what_is_left_before_it_ends) {
  int ran = 0;
  {
    Worker worker;
    for (int i = 0; i < 50; ++i) worker.push([&ran] { ++ran; });
  }
  EXPECT_EQ(50, ran);
}

TEST(Worker, takes_jobs_from_several_threads) {
  Worker worker;
  int ran = 0;
  std::vector<std::thread> pushers;
  for (int t = 0; t < 4; ++t) {
    pushers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) worker.push([&ran] { ++ran; });
    });
  }
  for (std::thread& pusher : pushers) pusher.join();
  ASSERT_TRUE(worker.drain(kLong));
  EXPECT_EQ(800, ran);
}

// Each job leaves three turns. A job that arrives meanwhile goes first, and draining waits for the last turn.
TEST(Worker, goes_on_with_what_a_job_left_while_no_other_one_waits) {
  int turns = 0;
  std::vector<int> turns_before;
  Worker worker({}, [&] { return --turns > 0; });
  for (int i = 0; i < 20; ++i) {
    worker.push([&] {
      turns_before.push_back(turns);
      turns = 3;
    });
    if (i % 2 == 0) continue;
    ASSERT_TRUE(worker.drain(kLong));
    EXPECT_EQ(0, turns);
  }
  EXPECT_EQ(20u, turns_before.size());
  EXPECT_EQ(0, turns_before.front());
}

TEST(Worker, goes_on_to_the_end_before_it_is_closed) {
  int turns = 0;
  {
    Worker worker({}, [&] { return --turns > 0; });
    worker.push([&] { turns = 1000; });
  }
  EXPECT_EQ(0, turns);
}

TEST(Worker, runs_on_the_cores_it_is_given_and_refuses_others) {
  cpu_set_t usable;
  sched_getaffinity(0, sizeof usable, &usable);
  int core = 0;
  while (!CPU_ISSET(core, &usable)) ++core;
  Worker worker({core});
  int ran_on = -1;
  worker.push([&ran_on] { ran_on = sched_getcpu(); });
  ASSERT_TRUE(worker.drain(kLong));
  EXPECT_EQ(core, ran_on);
  EXPECT_THROW(Worker({100000}), Error);
  EXPECT_THROW(Worker({-1}), Error);
}

}  // namespace
}  // namespace tandem::sync
