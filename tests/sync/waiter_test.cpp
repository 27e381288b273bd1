#include "sync/waiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "sync/error.h"

namespace tandem::sync {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class EveryWaiter : public ::testing::TestWithParam<std::string> {
 protected:
  Pool pool_;
  FlagBank bank_{pool_, 8, "bank"};
  Flag flag_ = bank_.make("attention done");
  WaitContext context_{"blk.3.attention", "opencl:0", 0, milliseconds(5000), {}, {}};
};

TEST_P(EveryWaiter, returns_at_once_when_the_flag_is_already_up) {
  flag_.raise(7);
  EXPECT_LT(make_waiter(policy_named(GetParam()))->wait(flag_, 7, context_).seconds, 5.0);
}

TEST_P(EveryWaiter, returns_only_after_the_flag_was_raised) {
  std::atomic<bool> raised = false;
  std::thread signaller([&] {
    std::this_thread::sleep_for(milliseconds(20));
    raised = true;
    flag_.raise(1);
  });
  context_.predicted_seconds = 0.010;
  const WaitReport report = make_waiter(policy_named(GetParam()))->wait(flag_, 1, context_);
  EXPECT_TRUE(raised);
  EXPECT_GT(report.seconds, 0.0);
  EXPECT_LE(report.spun_seconds, report.seconds);
  signaller.join();
}

// The least of several waits, because a spinner that the kernel interrupts has spun for longer.
TEST(SpinningWaiter, leaves_a_shared_core_soon) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("decided");
  const auto least_spun = [&](bool shares_core) {
    WaitContext context{"blk.3.decide", "link:0", 0, milliseconds(5000), {}, {}, shares_core};
    double least = 1;
    for (int i = 0; i < 10; ++i) {
      const uint32_t epoch = flag.epoch() + 1;
      std::thread signaller([&] {
        std::this_thread::sleep_for(milliseconds(5));
        flag.raise(epoch);
      });
      least = std::min(least, make_waiter(Policy::spin)->wait(flag, epoch, context).spun_seconds);
      signaller.join();
    }
    return least;
  };
  EXPECT_LT(least_spun(true), 1e-3);
  EXPECT_GE(least_spun(false), 2e-3);
}

TEST_P(EveryWaiter, survives_a_prediction_that_is_far_too_long_or_too_short) {
  for (double predicted : {1e-9, 0.030}) {
    const uint32_t epoch = flag_.epoch() + 1;
    std::thread signaller([&] {
      std::this_thread::sleep_for(milliseconds(3));
      flag_.raise(epoch);
    });
    context_.predicted_seconds = predicted;
    make_waiter(policy_named(GetParam()))->wait(flag_, epoch, context_);
    EXPECT_TRUE(flag_.reached(epoch));
    signaller.join();
  }
}

TEST_P(EveryWaiter, names_step_flag_device_and_epochs_when_the_deadline_passes) {
  context_.deadline = milliseconds(30);
  context_.advice = "Ask for more time";
  flag_.raise(4);
  try {
    make_waiter(policy_named(GetParam()))->wait(flag_, 9, context_);
    FAIL() << "the wait ended without the flag";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("deadline"));
    EXPECT_THAT(error.what(), HasSubstr("blk.3.attention"));
    EXPECT_THAT(error.what(), HasSubstr("attention done"));
    EXPECT_THAT(error.what(), HasSubstr("opencl:0"));
    EXPECT_THAT(error.what(), HasSubstr("wanted epoch 9, seen 4"));
    EXPECT_THAT(error.what(), HasSubstr("Ask for more time"));
  }
}

TEST_P(EveryWaiter, throws_the_failure_a_device_stored_while_it_waited) {
  std::thread signaller([&] {
    std::this_thread::sleep_for(milliseconds(5));
    flag_.fail("the kernel ran out of registers");
  });
  try {
    make_waiter(policy_named(GetParam()))->wait(flag_, 1, context_);
    FAIL() << "a failed flag ended the wait normally";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the kernel ran out of registers"));
  }
  signaller.join();
}

// Pairs of threads increment a shared value in turns. Each waits for the other's flag, so that only the flags order
// their accesses.
TEST_P(EveryWaiter, hands_a_value_to_and_fro_between_threads) {
  for (int workers : {1, 2, 4}) {
    Pool pool;
    FlagBank bank(pool, 2 * workers, "pairs");
    std::vector<std::thread> threads;
    std::vector<int> values(workers, 0);
    for (int w = 0; w < workers; ++w) {
      Flag ping = bank.make("ping"), pong = bank.make("pong");
      constexpr uint32_t kRounds = 25;
      threads.emplace_back([&, w, ping, pong] {
        auto waiter = make_waiter(policy_named(GetParam()));
        for (uint32_t round = 1; round <= kRounds; ++round) {
          waiter->wait(ping, round, context_);
          ++values[w];
          pong.raise(round);
        }
      });
      threads.emplace_back([&, w, ping, pong] {
        auto waiter = make_waiter(policy_named(GetParam()));
        for (uint32_t round = 1; round <= kRounds; ++round) {
          ++values[w];
          ping.raise(round);
          waiter->wait(pong, round, context_);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    for (int value : values) EXPECT_EQ(value, 50);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryWaiter, ::testing::ValuesIn(waiter_names()));

TEST(PredictWaiter, says_that_it_overslept_when_the_flag_was_up_before_it_woke) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  std::thread signaller([&] {
    std::this_thread::sleep_for(milliseconds(100));  // the wait has begun by then, also on a busy machine
    flag.raise(1);
  });
  WaitContext context{"step", "device", 0.6, milliseconds(5000), {}, {}};
  EXPECT_TRUE(make_waiter(Policy::predict)->wait(flag, 1, context).overslept);
  signaller.join();
  context.predicted_seconds = 0.2;
  EXPECT_FALSE(make_waiter(Policy::predict)->wait(flag, 1, context).overslept) << "it did not sleep at all";
}

// Only the blocking call raises the flag, so a policy that spins for ever never sees it.
TEST_P(EveryWaiter, comes_off_the_core_in_the_end_when_the_flag_does_not_come) {
  for (double predicted : {0.0, 1e-3, 1e-2}) {
    const uint32_t epoch = flag_.epoch() + 1;
    int calls = 0;
    context_.predicted_seconds = predicted;
    context_.block = [&](milliseconds) {
      ++calls;
      flag_.raise(epoch);
    };
    const WaitReport report = make_waiter(policy_named(GetParam()))->wait(flag_, epoch, context_);
    EXPECT_EQ(calls, 1);
    EXPECT_LE(report.spun_seconds, report.seconds);
  }
}

TEST_P(EveryWaiter, ends_at_once_when_the_signal_was_raised_twice) {
  flag_.raise(1);
  flag_.raise(1);
  try {
    make_waiter(policy_named(GetParam()))->wait(flag_, 2, context_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("raised twice: epoch 1 after 1"));
    EXPECT_THAT(error.what(), HasSubstr("blk.3.attention"));
  }
}

// The epoch is reached, but its result is not there.
TEST_P(EveryWaiter, throws_when_the_flag_was_reached_and_has_failed) {
  flag_.raise(1);
  flag_.fail("the copy behind it failed");
  try {
    make_waiter(policy_named(GetParam()))->wait(flag_, 1, context_);
    FAIL() << "a failed flag ended the wait normally";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the copy behind it failed"));
  }
}

// A prediction beyond the deadline must not make the waiter sleep past the deadline.
TEST(PredictWaiter, does_not_sleep_past_its_deadline) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  WaitContext context{"step", "device", 3600, milliseconds(20), {}, {}};
  EXPECT_THROW(make_waiter(Policy::predict)->wait(flag, 1, context), Error);
}

// A signaller without work returns from its blocking call at once. The waiter must not call it in a tight loop.
TEST(BlockingWaiter, rests_between_looks_at_a_signaller_that_has_nothing_to_do) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  int calls = 0;
  milliseconds shortest{1000};
  WaitContext context{"step", "device", 0, milliseconds(100), {}, [&](milliseconds left) {
                        ++calls;
                        shortest = std::min(shortest, left);
                      }};
  EXPECT_THROW(make_waiter(Policy::blocking)->wait(flag, 1, context), Error);
  EXPECT_LE(calls, 110) << "one a millisecond";
  EXPECT_LE(shortest, milliseconds(100)) << "what is left of the deadline is handed on";
}

// The device's call may get only the last few of 100 ms of a wait. Its "within 6 ms" alone would name neither step
// nor wait.
TEST(BlockingWaiter, names_the_step_when_the_signallers_own_call_gives_up_at_the_deadline) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  WaitContext context{"blk.0.product", "opencl:0", 0, milliseconds(20), {}, [](milliseconds left) {
                        std::this_thread::sleep_for(left);
                        throw Error("the device did not finish in what was left", "opencl:0");
                      }};
  try {
    make_waiter(Policy::blocking)->wait(flag, 1, context);
    FAIL() << "the wait ended without the flag";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a wait passed its deadline"));
    EXPECT_THAT(error.what(), HasSubstr("blk.0.product"));
    EXPECT_THAT(error.what(), HasSubstr("did not finish in what was left"));
  }
}

TEST(BlockingWaiter, hands_on_what_the_signallers_own_call_says_before_the_deadline) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  WaitContext context{"step", "opencl:0",
                      0,      std::chrono::minutes(1),
                      {},     [](milliseconds) { throw Error("the device is lost", "opencl:0"); }};
  try {
    make_waiter(Policy::blocking)->wait(flag, 1, context);
    FAIL() << "the wait ended without the flag";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the device is lost"));
    EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("deadline")));
  }
}

TEST(PredictWaiter, gives_the_thread_its_timer_slack_back) {
  std::thread([] {  // a thread of its own, because slack belongs to a thread
    prctl(PR_SET_TIMERSLACK, 40000, 0, 0, 0);
    Pool pool;
    FlagBank bank(pool, 1, "bank");
    Flag flag = bank.make("f");
    WaitContext context{"step", "device", 1e-3, milliseconds(5000), {}, [&](milliseconds) { flag.raise(1); }};
    make_waiter(Policy::predict)->wait(flag, 1, context);
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 40000);
  })
      .join();
}

TEST(BlockingWaiter, uses_the_signallers_own_blocking_call) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  int calls = 0;
  WaitContext context{"step", "device", 0, milliseconds(1000), {}, [&](milliseconds) {
                        ++calls;
                        flag.raise(1);
                      }};
  make_waiter(Policy::blocking)->wait(flag, 1, context);
  EXPECT_EQ(calls, 1);
}

TEST(Waiter, lists_the_policies_when_asked_for_an_unknown_one) {
  try {
    policy_named("hope");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("blocking, event, spin, predict, gate, doorbell"));
  }
}

}  // namespace
}  // namespace tandem::sync
