// Measures the time of a device's read of the host's memory: a round trip across the bus (engine/lab/litmus_runs.h).
#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/device/lab/litmus_layout.h"
#include "engine/lab/litmus_runs.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kEndDeadline{20000};
constexpr uint32_t kFewReads = 64, kManyReads = 2048;
// The lines of the chain. The step is odd, so the chain passes every line before it comes back. The step is long, so no
// neighbour is prefetched.
constexpr uint32_t kLines = 8192, kStep = 2731;
static_assert((litmus::kFirstInstanceLine + kLines) * litmus::kLineWords * sizeof(uint32_t) <= litmus::kBytes);

uint32_t line_number(uint32_t place) { return litmus::kFirstInstanceLine + place % kLines; }

// Each line of the chain names the line kStep places behind it.
void make_chain(uint32_t* words) {
  for (uint32_t place = 0; place < kLines; ++place)
    words[line_number(place) * litmus::kLineWords] = line_number(place + kStep);
}

// Seconds of a launch that reads `reads` lines of the chain, from `place` on. The kernel writes the number of the line
// at which it ends, which shows that no read was left out.
double launch_seconds(LitmusAgent& device, const sync::Slot& memory, uint32_t place, uint32_t reads) {
  uint32_t& result = memory.as<uint32_t>()[litmus::result_word(0, 0)];
  result = 0;
  const double begin = now_seconds();
  device.start({&memory, LitmusTest::dependent_reads, 0, line_number(place), reads, 0});
  device.finish(kEndDeadline);
  const double seconds = now_seconds() - begin;
  if (result != line_number(place + kStep * reads))
    throw Error("a kernel does not read what the host has written", device.name());
  return seconds;
}

// Keeps the memory until the process ends, at a place that is known to sanitizers.
void never_free(std::unique_ptr<sync::Pool> pool) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<sync::Pool>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(pool));
}

}  // namespace

// A launch of many reads minus one of few reads leaves the time of the reads alone. Every launch begins at a new place
// of the chain.
std::vector<double> dependent_read_seconds(LitmusAgent& device, int rounds, milliseconds time) {
  auto pool = std::make_unique<sync::Pool>();  // for this measurement alone: no device has seen its memory
  const sync::Slot& memory = pool->acquire(litmus::kBytes, sync::SlotUse::flags, "a chain of reads");
  make_chain(memory.as<uint32_t>());
  std::vector<double> seconds;
  uint32_t place = 0;
  try {
    launch_seconds(device, memory, place, kFewReads);  // not counted: the first launch of a kernel takes longer
    const auto end = Clock::now() + time;
    do {
      const double few = launch_seconds(device, memory, place += kStep, kFewReads);
      const double many = launch_seconds(device, memory, place += kStep, kManyReads);
      seconds.push_back(std::max(0.0, many - few) / (kManyReads - kFewReads));
    } while (static_cast<int>(seconds.size()) < rounds && Clock::now() < end);
  } catch (...) {
    never_free(std::move(pool));  // a kernel that did not end may still write
    throw;
  }
  device.release_memory();
  return seconds;
}

}  // namespace tandem
