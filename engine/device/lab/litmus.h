// Litmus tests of memory ordering: two processors run a few lines each on one memory, many times over, and every
// outcome is counted. They show that the order which flags rely on (sync/flag.h) holds between each pair of processors.
//
// Tests ("a" runs the left side, "b" the right one; R: the round's number, old: a smaller one)
//   message passing   left: data = R, flag = R (release); right: reads flag (acquire), then data. Forbidden: the flag
//                     new and the data old.
//   many lines        the same with 1 to 64 cache lines of data, and the right side waits for the flag. Forbidden: the
//                     flag new and any line old; or the left side gone on and the flag still old.
//   store buffering   left: x = R, reads y; right: y = R, reads x. Both old is allowed under release and acquire, for
//                     stores wait in buffers. It is counted, because it shows that the sides really ran at once.
//   false sharing     each side adds to a word of its own in one line. Forbidden: a sum that is too small.
//   broken ...        the same with the flag raised before the data, or both sides adding to one word: its forbidden
//                     outcomes show that the harness can see a violation.
// Contract
//   A launch walks kLitmusInstances independent instances of a test in the same order on both sides, which wait for
//   each other before each (a bounded number of looks in all: nothing stays on a device), then for a random moment, so
//   that they meet in the middle of it. "Together" counts the instances at which both saw the other one arrive; what
//   ran apart proves nothing. All accesses are those of flags: std::atomic on the host, LOAD_ACQUIRE and STORE_RELEASE
//   of kernels/flags.cl, device-scope atomics in shaders.
// Threads: one. Ownership: agents borrow their device, which must outlive them, and the memory of a launch until its
// finish().
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sync/pool.h"

namespace tandem {

enum class LitmusTest : uint32_t {
  message_passing = 0,
  many_lines = 1,
  store_buffering = 2,
  false_sharing = 3,
  broken_message_passing = 4,
  broken_many_lines = 5,
  broken_false_sharing = 7,
  dependent_reads = 8,  // no test: from line `round` on, `looks` reads of the line that the last one named
};
const char* name_of(LitmusTest test);
const std::vector<LitmusTest>& litmus_tests();  // without the broken ones

constexpr uint32_t kLitmusInstances = 128;

// One side of one launch. The memory is an array of 32-bit words in lines of 16 (kernels/litmus.cl has the layout).
struct LitmusWalk {
  const sync::Slot* memory = nullptr;
  LitmusTest test = LitmusTest::message_passing;
  uint32_t side = 0;   // 0: left, 1: right
  uint32_t round = 1;  // rises from launch to launch
  uint32_t looks = 0;  // at the other side's progress or at flags, in all
  uint32_t seed = 0;   // of the moments waited and of the numbers of lines; the same for both sides
};

// Somebody who can run a side: a thread, or a device.
class LitmusAgent {
 public:
  virtual ~LitmusAgent() = default;
  virtual const std::string& name() const = 0;
  virtual uint32_t looks() const = 0;  // how many one walk may wait, in all: the patience to let the other side start
  virtual void start(const LitmusWalk& walk) = 0;  // does not block
  // Waits until the walk has ended. Error when it has not within the deadline; then the agent is not used again.
  virtual void finish(std::chrono::milliseconds deadline) = 0;
  virtual void release_memory() = 0;  // forgets the memory of its walks, which is about to go
};

// A thread of its own. cores: where it may run; empty: anywhere.
std::unique_ptr<LitmusAgent> make_thread_litmus_agent(std::string name, const std::vector<int>& cores);

struct LitmusOutcome {
  std::string what;
  uint64_t count = 0;
  bool forbidden = false;
};

struct LitmusCounts {
  uint64_t launches = 0, instances = 0, together = 0, forbidden = 0;
  std::vector<LitmusOutcome> outcomes;  // every outcome of the test, also those that never came
};

struct LitmusLimits {
  uint64_t launches = 100000;
  std::chrono::milliseconds time{30000};  // both sides may share a core, or be kept waiting by others
};

// Launches until both sides were together at `iterations` instances, or a limit is reached; counts.together says how
// far it came. a and b are different agents. Error when an agent fails or does not end.
LitmusCounts run_litmus(LitmusAgent& a, LitmusAgent& b, LitmusTest test, uint64_t iterations, LitmusLimits limits = {});

std::string to_string(const LitmusCounts& counts);  // one line

// Seconds of one read of the host's memory by the device, up to `rounds` values. A kernel reads a chain of lines, each
// of which names the next one, so that every read waits for the one before it; a value is the difference of a long
// chain's launch and a short one's, for each read. Behind a bus that is a round trip across it. Ends after `time`, with
// one value at least. Error when a kernel fails or reads other bytes.
std::vector<double> dependent_read_seconds(LitmusAgent& device, int rounds,
                                           std::chrono::milliseconds time = std::chrono::milliseconds(500));

}  // namespace tandem
