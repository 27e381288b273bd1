#include "sync/ping_pong.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "sync/affinity.h"
#include "sync/clock.h"
#include "sync/cycle_clock.h"
#include "sync/error.h"

namespace tandem::sync {
namespace {

// 128 bytes apart: x86 fetches lines in pairs.
struct Words {
  alignas(128) std::atomic<uint32_t> ping{0};
  alignas(128) std::atomic<uint32_t> pong{0};
  alignas(128) std::atomic<bool> given_up{false};
};

// The pause instruction is a choice of the template, so the loop without it has no branch.
template <bool pause>
void relax() {
#if defined(__x86_64__) || defined(__i386__)
  if constexpr (pause) __builtin_ia32_pause();
#elif defined(__aarch64__)
  if constexpr (pause) asm volatile("yield");
#endif
}

// Waits until the word has the value. False: this side or the other one has given up. It reads the clock only once
// every kLooks looks.
template <bool pause>
bool await(const std::atomic<uint32_t>& word, uint32_t value, Words& words) {
  constexpr uint32_t kLooks = 1 << 16;
  const auto look = [&] {
    for (uint32_t i = 0; i < kLooks; ++i) {
      if (word.load(std::memory_order_acquire) == value) return true;
      relax<pause>();
    }
    return false;
  };
  if (look()) return true;
  const auto begin = Clock::now();
  while (!words.given_up.load(std::memory_order_relaxed)) {
    if (look()) return true;
    if (Clock::now() - begin > kPingPongDeadline) words.given_up.store(true, std::memory_order_relaxed);
  }
  return false;
}

// Counts of the cycle counter become seconds by the two ties around them.
double seconds_between(uint64_t begin, uint64_t end, const ClockTie& before, const ClockTie& after) {
  return seconds_of(end, before, after) - seconds_of(begin, before, after);
}

// The cycle counter when it is usable, else the steady clock's own ticks.
uint64_t read_clock() {
  if (cycle_counter_usable()) return read_cycles();
  return static_cast<uint64_t>(Clock::now().time_since_epoch().count());
}

ClockTie tie() {
  if (cycle_counter_usable()) return tie_clocks();
  const auto now = Clock::now().time_since_epoch();
  return {static_cast<uint64_t>(now.count()), std::chrono::duration<double>(now).count()};
}

// This thread sends, the second thread answers, and every round is timed here. The times are converted to seconds at
// the end by two ties around all rounds.
template <bool pause>
std::vector<double> play(int second_core, int rounds, Clock::duration budget) {
  Words words;
  const auto count = static_cast<uint32_t>(rounds);
  std::vector<uint64_t> begins, ends;
  begins.reserve(count);
  ends.reserve(count);
  std::thread second([&] {
    pin_this_thread({{second_core}});
    for (uint32_t i = 1; i <= count && await<pause>(words.ping, i, words); ++i)
      words.pong.store(i, std::memory_order_release);
  });
  const ClockTie before = tie();
  bool answered = true;
  const auto end = Clock::now() + budget;
  // The first round always runs. The budget is checked between rounds.
  for (uint32_t i = 1; i <= count && answered && (i == 1 || Clock::now() < end); ++i) {
    begins.push_back(read_clock());
    words.ping.store(i, std::memory_order_release);
    answered = await<pause>(words.pong, i, words);
    ends.push_back(read_clock());
  }
  words.given_up.store(true, std::memory_order_relaxed);  // the second thread may wait for more rounds than there were
  second.join();
  const ClockTie after = tie();
  if (!answered) {
    throw Error("two cores did not answer each other in time", "core " + std::to_string(second_core),
                "Something holds a core; measure on an idle machine");
  }
  std::vector<double> seconds;
  for (size_t i = 0; i < begins.size(); ++i) seconds.push_back(seconds_between(begins[i], ends[i], before, after));
  return seconds;
}

// The median; for an even count, the upper one of the two middle values.
double middle(std::vector<double> values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
}

}  // namespace

// Plays both ways of waiting with half of the budget each, and returns the times of the one with the smaller median.
std::vector<double> ping_pong(int first_core, int second_core, int rounds, std::chrono::milliseconds budget) {
  TANDEM_CHECK(first_core != second_core, "a core cannot hand a word to itself");
  TANDEM_CHECK(rounds > 0, "a ping-pong has rounds");
  const int first[] = {first_core};
  const OnCores pinned(first);
  std::vector<double> tight = play<false>(second_core, rounds, budget / 2),
                      relaxed = play<true>(second_core, rounds, budget / 2);
  return middle(tight) <= middle(relaxed) ? tight : relaxed;
}

// The mean time of one reading of the clock.
double clock_seconds() {
  static const double seconds = [] {
    constexpr int kReadings = 100000;  // about a millisecond: the clock may tick far more slowly than a read takes
    const ClockTie before = tie();
    uint64_t last = 0;
    for (int i = 0; i < kReadings; ++i) last = std::max(last, read_clock());
    const ClockTie after = tie();
    return (after.seconds - before.seconds) / kReadings;
  }();
  return seconds;
}

}  // namespace tandem::sync
