// The common part of the probes of all devices.
//
// It numbers steps, checks their results, and sees their end by a flag and a waiting policy.
//
// Contract
//   A step s computes the chain (probe_chain) of `iterations` links. It writes value = chain + s, count = count + 1 and
//   its times into the done flag's own line. Then it raises the flag to epoch s, so one cache line changes hands. The
//   chain uses integers: every device gives the same bits, with fused fma or without, and no compiler can shorten the
//   chain. Line layout (shared with kernels/doorbell.cl), 32-bit words: 0 epoch, 1 failure, 4 value, 5 count, 6-7
//   begin, 8-9 end (cycles).
//   After a failure, abandon() leaves nothing queued or running, and numbers go on behind the failed step. Threads:
//   one; a device's own threads only call run_probe_step().
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

// The parameters of a step, besides its number.
struct ProbeWork {
  uint64_t iterations = 0;
  bool timed = false;
};
// Runs a step on a thread of the host.
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

  // The maker of a probe calls this once. It shows that steps work (and compiles them), checks that the clocks compare,
  // and finds the length of the work. Error: the policy cannot be used.
  void prepare(double work_seconds);

 protected:
  // has_cycles: steps can read the cycle counter.
  SteppedProbe(std::string device, sync::Policy policy, bool has_cycles);

  virtual void queue_ahead(uint32_t) {}                           // the work for a step that arm() may do ahead
  virtual void begin(uint32_t step) = 0;                          // called after queue_ahead(step)
  virtual bool begin_chain(uint32_t, uint32_t) { return false; }  // steps [first, last] at once; false: not possible
  // Called after the end of a step was seen: brings its line to the host; this time does not count.
  virtual void fetch() {}
  virtual sync::WaitReport await(uint32_t step, const sync::WaitContext& context);
  virtual void abandon() noexcept = 0;

  const sync::Flag& done() const { return done_; }
  // Takes over the line that the device left in its own memory: the step's result, then its epoch.
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
  uint32_t chain_value_ = kProbeSeed;  // the chain of work_.iterations links
  bool comparable_;
  uint32_t armed_ = 0, started_ = 0, seen_ = 0;  // number of the last step that was armed, started, seen
  uint32_t count_ = 0;                           // number of steps that ran, as the device counts
  sync::ClockTie before_;
  uint64_t handed_over_ = 0, seen_end_ = 0;  // of the last step, in ticks()
  double tick_seconds_ = 1e-9;
  std::optional<StepTimes> times_;
};

}  // namespace tandem
