// How long a word takes to a device and back: the lower limit of every hand-over (engine/device/lab/litmus.h).
#include <algorithm>
#include <atomic>
#include <memory>

#include "engine/device/lab/litmus.h"
#include "engine/device/lab/litmus_layout.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kEndDeadline{20000};  // its looks are bounded
constexpr milliseconds kAnswerDeadline{50};  // of one number; the first one waits for the launch as well
constexpr uint32_t kNumbersOfLaunch = 65;    // the first one is not timed

// False: no answer came in time.
bool answered(const uint32_t& word, uint32_t number) {
  const std::atomic_ref<uint32_t> theirs(const_cast<uint32_t&>(word));
  const auto end = Clock::now() + kAnswerDeadline;
  while (theirs.load(std::memory_order_acquire) != number) {
    if (Clock::now() > end) return false;
  }
  return true;
}

// One launch of the device's side, and numbers first + 1 .. first + kNumbersOfLaunch.
void ask(LitmusAgent& device, const sync::Slot& memory, uint32_t first, std::vector<double>& seconds) {
  uint32_t* const words = memory.as<uint32_t>();
  uint32_t& ours = words[litmus::progress_word(0)];
  const uint32_t& theirs = words[litmus::progress_word(1)];
  device.start({&memory, LitmusTest::round_trips, 1, first, device.looks(), first + kNumbersOfLaunch});
  for (uint32_t number = first + 1; number <= first + kNumbersOfLaunch; ++number) {
    const double begin = now_seconds();
    std::atomic_ref(ours).store(number, std::memory_order_release);
    if (!answered(theirs, number)) break;
    if (number > first + 1) seconds.push_back(now_seconds() - begin);
  }
  std::atomic_ref(ours).store(first + kNumbersOfLaunch, std::memory_order_release);  // whatever happened: it may end
  device.finish(kEndDeadline);
}

}  // namespace

std::vector<double> word_round_trips(LitmusAgent& device, int rounds, milliseconds time) {
  auto pool = std::make_unique<sync::Pool>();  // of this alone: no device has seen its memory
  const sync::Slot& memory = pool->acquire(litmus::kBytes, sync::SlotUse::flags, "words to and fro");
  std::vector<double> seconds;
  const auto end = Clock::now() + time;
  uint32_t first = 0;
  do {
    try {
      ask(device, memory, first, seconds);
    } catch (...) {
      static_cast<void>(pool.release());  // a kernel that did not end may yet write: the memory stays
      throw;
    }
    first += kNumbersOfLaunch;
  } while (static_cast<int>(seconds.size()) < rounds && Clock::now() < end);
  device.release_memory();
  if (seconds.empty()) throw Error("a running kernel does not answer the host", device.name(), "It sees no stores");
  seconds.resize(std::min(seconds.size(), static_cast<size_t>(rounds)));
  return seconds;
}

}  // namespace tandem
