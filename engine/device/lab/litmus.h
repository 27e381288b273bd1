// Litmus tests of memory ordering between two processors.
//
// Both run a few lines each on one memory, many times, and every outcome is counted. The counts show that the order
// which flags rely on (sync/flag.h) holds between each pair of processors.
//
// Tests ("a" runs the left side, "b" the right one; R: the round's number, old: a smaller one)
//   message passing   left: data = R, flag = R (release); right: reads flag (acquire), then data. Forbidden: the flag
//                     is new and the data old.
//   many lines        the same with 1 to 64 cache lines of data, and the right side waits for the flag. Forbidden: the
//                     flag is new and any line old; or the left side has gone on and the flag is still old.
//   store buffering   left: x = R, reads y; right: y = R, reads x. Release and acquire allow that both are old, since
//                     stores wait in buffers. It is counted because it shows that the sides really ran at once.
//   false sharing     each side adds to its own word in one line. Forbidden: a sum that is too small.
//   broken ...        the same with the flag raised before the data, or both sides adding to one word. Their forbidden
//                     outcomes show that the harness can see a violation.
// Contract
//   A launch walks kLitmusInstances independent instances of a test in the same order on both sides. Before each
//   instance the sides wait for each other, with a bounded number of looks in all, so nothing stays on a device. Then
//   each waits for a random moment, so that they meet in the middle of the instance. "Together" counts the instances at
//   which both sides saw the other one arrive. Instances that ran apart prove nothing. All accesses are those of flags:
//   std::atomic on the host, LOAD_ACQUIRE and STORE_RELEASE of kernels/flags.cl, device-scope atomics in shaders.
// Threads: one. Ownership: agents borrow their device, which must outlive them. They borrow the memory of a launch
// until its finish().
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
  dependent_reads = 8,  // no test: `looks` reads from line `round` on, each of the line that the last one named
};
const char* name_of(LitmusTest test);
const std::vector<LitmusTest>& litmus_tests();  // all but the broken ones

constexpr uint32_t kLitmusInstances = 128;

// One side of one launch. The memory is an array of 32-bit words in lines of 16 (kernels/litmus.cl documents
// the layout).
struct LitmusWalk {
  const sync::Slot* memory = nullptr;
  LitmusTest test = LitmusTest::message_passing;
  uint32_t side = 0;   // 0: left, 1: right
  uint32_t round = 1;  // rises from launch to launch
  uint32_t looks = 0;  // the most looks at the other side's progress or at flags, in all
  uint32_t seed = 0;   // seed of the random moments and numbers of lines; the same for both sides
};

// A thread or a device that can run a side.
class LitmusAgent {
 public:
  virtual ~LitmusAgent() = default;
  virtual const std::string& name() const = 0;
  virtual uint32_t looks() const = 0;  // the most looks of one walk, in all: enough for the other side to start
  virtual void start(const LitmusWalk& walk) = 0;  // does not block
  // Waits until the walk has ended. Error when it has not ended within the deadline; then the agent must not be
  // used again.
  virtual void finish(std::chrono::milliseconds deadline) = 0;
  virtual void release_memory() = 0;  // forgets the memory of its walks before that memory is freed
};

// An agent with its own thread. cores: where the thread may run; empty: anywhere.
std::unique_ptr<LitmusAgent> make_thread_litmus_agent(std::string name, const std::vector<int>& cores);

struct LitmusOutcome {
  std::string what;
  uint64_t count = 0;
  bool forbidden = false;
};

struct LitmusCounts {
  uint64_t launches = 0, instances = 0, together = 0, forbidden = 0;
  std::vector<LitmusOutcome> outcomes;  // every possible outcome of the test, even with count 0
};

struct LitmusLimits {
  uint64_t launches = 100000;
  std::chrono::milliseconds time{30000};  // both sides may share a core, or other processes may hold their cores
};

// Launches until both sides were together at `iterations` instances, or until a limit is reached; counts.together gives
// the number reached. a and b are different agents. Error when an agent fails or does not end.
LitmusCounts run_litmus(LitmusAgent& a, LitmusAgent& b, LitmusTest test, uint64_t iterations, LitmusLimits limits = {});

std::string to_string(const LitmusCounts& counts);  // one line

// Seconds of one read of the host's memory by the device, up to `rounds` values. A kernel reads a chain of lines, each
// of which names the next one, so every read waits for the one before it. A value is the difference between a launch
// with a long chain and one with a short chain, divided by the difference in reads. Behind a bus, this is a round trip
// across it. Ends after `time`, with at least one value. Error when a kernel fails or reads other bytes.
std::vector<double> dependent_read_seconds(LitmusAgent& device, int rounds,
                                           std::chrono::milliseconds time = std::chrono::milliseconds(500));

}  // namespace tandem
