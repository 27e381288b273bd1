#include "sync/flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "sync/error.h"

namespace tandem::sync {
namespace {

TEST(Flag, has_a_cache_line_of_its_own) {
  Pool pool;
  FlagBank bank(pool, 4, "bank");
  Flag a = bank.make("a"), b = bank.make("b");
  EXPECT_EQ(b.offset_bytes() - a.offset_bytes(), 64u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(&a.line()) % 64, 0u);
  EXPECT_EQ(a.slot().use(), SlotUse::flags);
  EXPECT_EQ(b.name(), "b");
}

TEST(Flag, is_reached_by_its_epoch_and_every_later_one) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  EXPECT_TRUE(flag.reached(0));
  EXPECT_FALSE(flag.reached(1));
  flag.raise(3);
  EXPECT_TRUE(flag.reached(2));
  EXPECT_TRUE(flag.reached(3));
  EXPECT_FALSE(flag.reached(4));
}

TEST(Flag, counts_on_past_the_largest_epoch) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  for (const uint32_t epoch : {0x7fffffffu, 0xffffffffu}) flag.raise(epoch);  // a larger stride counts as backwards
  EXPECT_EQ(flag.epoch(), 0xffffffffu);
  EXPECT_FALSE(flag.reached(1));
  flag.raise(1);
  EXPECT_FALSE(flag.failed()) << flag.failure();
  EXPECT_TRUE(flag.reached(0xffffffffu));
}

TEST(Flag, fails_when_it_is_raised_twice_and_keeps_its_epoch) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  flag.raise(5);
  EXPECT_FALSE(flag.failed());
  flag.raise(5);
  EXPECT_TRUE(flag.failed());
  EXPECT_THAT(flag.failure(), ::testing::HasSubstr("raised twice: epoch 5 after 5"));
  EXPECT_EQ(flag.epoch(), 5u);
}

TEST(Flag, fails_when_a_wrong_epoch_is_raised_and_never_falls) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  flag.raise(9);
  flag.raise(7);
  EXPECT_EQ(flag.epoch(), 9u);
  EXPECT_THAT(flag.failure(), ::testing::HasSubstr("wrong epoch: epoch 7 after 9"));
  flag.clear_failure();
  flag.raise(10);
  EXPECT_FALSE(flag.failed());
  EXPECT_EQ(flag.epoch(), 10u);
}

TEST(Flag, tells_a_kernels_double_signal_from_its_other_failures) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  flag.raise(3);
  flag.line().failure.store(2);  // the value that kernels/flags.cl stores
  EXPECT_THAT(flag.failure(), ::testing::HasSubstr("twice or by a wrong epoch, after 3"));
}

TEST(Flag, keeps_the_first_failure) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  flag.fail("first");
  flag.fail("second");
  EXPECT_TRUE(flag.failed());
  EXPECT_EQ(flag.failure(), "first");
  flag.clear_failure();
  EXPECT_FALSE(flag.failed());
}

TEST(Flag, tells_the_next_failure_after_the_last_one_was_cleared) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  flag.fail("of the first run");
  flag.clear_failure();
  flag.fail("of the second run");
  EXPECT_EQ(flag.failure(), "of the second run");
}

// A wake-up may arrive just before the thread sleeps, so the test sends it until it arrives. Without any wake-up the
// thread sleeps until its timeout.
TEST(Flag, wakes_who_sleeps_on_it_when_it_fails) {
  constexpr std::chrono::seconds kSleep{5};
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  const Flag flag = bank.make("f");
  std::atomic<bool> slept_out = false, ended = false;
  std::thread sleeper([&] {
    const auto begin = std::chrono::steady_clock::now();
    flag.sleep_until(1, kSleep);
    slept_out = std::chrono::steady_clock::now() - begin >= kSleep;
    ended = true;
  });
  while (flag.line().sleepers.load() == 0) std::this_thread::yield();
  while (!ended) {
    flag.fail("again");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  sleeper.join();
  EXPECT_FALSE(slept_out) << "nobody woke it";
}

TEST(Flag, says_so_when_a_device_set_the_failure_word_without_a_message) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  Flag flag = bank.make("f");
  flag.line().failure.store(1);
  EXPECT_THAT(flag.failure(), ::testing::HasSubstr("device"));
}

TEST(FlagBank, refuses_more_flags_than_it_has_lines) {
  Pool pool;
  FlagBank bank(pool, 1, "bank");
  bank.make("one");
  EXPECT_THROW(bank.make("two"), Error);
}

// A thread that sees a flag may drop its bank at once, and the next bank gets its memory. The thread that raised the
// flag may still check for sleepers there. ThreadSanitizer decides whether that is a race.
TEST(FlagBank, may_be_dropped_by_who_sees_its_flag_and_leave_its_memory_to_the_next) {
  Pool pool;
  for (int i = 0; i < 300; ++i) {
    auto bank = std::make_unique<FlagBank>(pool, 1, "bank");
    const Flag flag = bank->make("f");
    std::thread raising([flag] { flag.raise(1); });
    while (!flag.reached(1)) std::this_thread::yield();
    bank.reset();
    FlagBank next(pool, 1, "next");
    const Flag other = next.make("g");
    EXPECT_FALSE(other.reached(1));
    raising.join();
    EXPECT_FALSE(other.reached(1));
  }
}

class FlagThreads : public ::testing::TestWithParam<int> {};

// A thread that sees the flag's epoch also sees all data written before raise(), over many cache lines.
TEST_P(FlagThreads, publish_all_data_written_before_the_flag) {
  const int readers = GetParam();
  constexpr int kWords = 1024, kRounds = 300;
  Pool pool;
  FlagBank bank(pool, 1 + readers, "bank");
  Flag ready = bank.make("ready");
  std::vector<Flag> taken;
  for (int r = 0; r < readers; ++r) taken.push_back(bank.make("taken"));
  std::vector<uint32_t> data(kWords);
  std::vector<uint64_t> wrong(readers, 0);
  std::vector<std::thread> threads;
  for (int r = 0; r < readers; ++r) {
    threads.emplace_back([&, r] {
      for (uint32_t round = 1; round <= kRounds; ++round) {
        while (!ready.reached(round)) std::this_thread::yield();
        for (uint32_t word : data) wrong[r] += word != round;
        taken[r].raise(round);
      }
    });
  }
  for (uint32_t round = 1; round <= kRounds; ++round) {
    for (uint32_t& word : data) word = round;
    ready.raise(round);
    for (Flag& flag : taken) {
      while (!flag.reached(round)) std::this_thread::yield();
    }
  }
  for (auto& thread : threads) thread.join();
  for (uint64_t count : wrong) EXPECT_EQ(count, 0u);
}

INSTANTIATE_TEST_SUITE_P(Readers, FlagThreads, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace tandem::sync
