// Litmus tests of memory ordering between two processors: the tests, and the sides that devices run.
//
// Both run a few lines each on one memory, many times, and every outcome is counted (engine/lab/litmus_runs.h). The
// counts show that the order which flags rely on (sync/flag.h) holds between each pair of processors.
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

}  // namespace tandem
