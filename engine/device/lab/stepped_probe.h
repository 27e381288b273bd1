// What the probes of all devices have in common: steps are numbered, their results are checked, and their end is a flag
// that a waiting policy waits for.
//
// Contract
//   A step s computes the chain (probe_chain) of `iterations` links, writes value = chain + s, count = count + 1 and
//   its times into the done flag's own line, then raises the flag to epoch s: one cache line changes hands. Integers,
//   not floats: every device gives the same bits, whether its fma is fused or not, and no compiler can shorten the
//   chain. Line layout (shared with kernels/doorbell.cl), 32-bit words: 0 epoch, 1 failure, 4 value, 5 count, 6-7
//   begin, 8-9 end (cycles). After a failure abandon() leaves nothing queued or running, and numbers go on behind the
//   failed step. Threads: one; a device's own threads only call run_probe_step().
#pragma once

#include <optional>
#include <span>
#include <string>

#include "engine/device/lab/sync_probe.h"
#include "sync/cycle_clock.h"
#include "sync/flag.h"
#include "sync/pool.h"

namespace tandem {

constexpr uint32_t kProbeSeed = 0x9e3779b9;
uint32_t probe_chain(uint32_t seed, uint64_t iterations);

// What a step is told besides its number.
struct ProbeWork {
  uint64_t iterations = 0;
  bool timed = false;
};
// A step on a thread of the host.
void run_probe_step(const sync::Flag& done, uint32_t step, const ProbeWork& work);

class SteppedProbe : public SyncProbe {
 public:
  void arm() final;
  void start() final;
  sync::WaitReport wait(double predicted_seconds, std::chrono::milliseconds deadline) final;
  void chain(int steps, std::chrono::milliseconds deadline) final;
  void time_steps(bool on) final { work_.timed = on && comparable_; }
  double round_trip_seconds() const final;
  std::optional<StepTimes> last_step() const final;

  // Called once by whoever made the probe: shows that steps work (and compiles them), that clocks compare, and finds
  // the work's length. Error: the policy cannot be used.
  void prepare(double work_seconds);

 protected:
  // has_cycles: steps can read the cycle counter.
  SteppedProbe(std::string device, sync::Policy policy, bool has_cycles);

  virtual void queue_ahead(uint32_t) {}                           // what arm() may do for a step
  virtual void begin(uint32_t step) = 0;                          // after queue_ahead(step)
  virtual bool begin_chain(uint32_t, uint32_t) { return false; }  // steps [first, last] at once; false: cannot
  virtual void fetch() {}  // after the end of a step was seen: brings its line to the host, in no time that counts
  virtual sync::WaitReport await(uint32_t step, const sync::WaitContext& context);
  virtual void abandon() noexcept = 0;

  const sync::Flag& done() const { return done_; }
  // The line as the device left it in memory of its own: the step's result, then its epoch.
  void take_line(std::span<const uint32_t, 16> words);
  const ProbeWork& work() const { return work_; }
  const std::string& device() const { return device_; }
  sync::Pool& pool() { return pool_; }
  sync::FlagBank& bank() { return bank_; }

 private:
  sync::WaitReport finish_step(uint32_t first, uint32_t last, double predicted, std::chrono::milliseconds deadline);
  void check_result(uint32_t first, uint32_t last);
  [[noreturn]] void give_up(uint32_t step, const std::string& why);
  double least_seconds(uint64_t iterations);
  void calibrate(double work_seconds);
  bool clocks_compare();

  const std::string device_, policy_, name_;
  sync::Pool pool_;
  sync::FlagBank bank_;
  sync::Flag done_;
  std::unique_ptr<sync::Waiter> waiter_;
  ProbeWork work_;
  uint32_t chain_value_ = kProbeSeed;  // of work_.iterations links
  bool comparable_;
  uint32_t armed_ = 0, started_ = 0, seen_ = 0;  // numbers of the last step that was
  uint32_t count_ = 0;                           // steps that ran, as the device counts
  sync::ClockTie before_;
  uint64_t handed_over_ = 0, seen_end_ = 0;  // of the last step, as ticks()
  double tick_seconds_ = 1e-9;
  std::optional<StepTimes> times_;
};

}  // namespace tandem
