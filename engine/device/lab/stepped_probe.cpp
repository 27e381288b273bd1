#include "engine/device/lab/stepped_probe.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kFirstStep{5000};  // the first launch of a kernel may compile it

// The words of a flag line behind its own four words (stepped_probe.h).
struct ProbeResult {
  uint32_t value, count;
  uint64_t begin_cycles, end_cycles;
};
constexpr size_t kResultOffset = offsetof(sync::FlagLine, unused);

ProbeResult read_result(const sync::Flag& done) {
  ProbeResult result;
  std::memcpy(&result, reinterpret_cast<const std::byte*>(&done.line()) + kResultOffset, sizeof result);
  return result;
}

void write_result(const sync::Flag& done, const ProbeResult& result) {
  std::memcpy(reinterpret_cast<std::byte*>(&done.line()) + kResultOffset, &result, sizeof result);
}

// Measured once for the process, from two ties that lie 2 ms apart.
double seconds_per_cycle() {
  static const double seconds = [] {
    const sync::ClockTie before = sync::tie_clocks();
    std::this_thread::sleep_for(milliseconds(2));  // the ties' error of 50 ns is 25 millionths of this
    const sync::ClockTie after = sync::tie_clocks();
    return (after.seconds - before.seconds) / static_cast<double>(after.cycles - before.cycles);
  }();
  return seconds;
}

// Reads the cycle counter if possible, because it takes half as long to read as the steady clock.
uint64_t ticks() {
  if (sync::cycle_counter_usable()) return sync::read_cycles();
  return static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
}

}  // namespace

// A multiplication, an addition, a shift and an exclusive or, each waiting for the one before it. The chain has no
// closed form.
uint32_t probe_chain(uint32_t seed, uint64_t iterations) {
  uint32_t x = seed;
  for (uint64_t i = 0; i < iterations; ++i) {
    x = x * 747796405u + 2891336453u;
    x ^= x >> 15;
  }
  return x;
}

// The times surround the work alone. The flag is raised last, so its epoch publishes the result.
void run_probe_step(const sync::Flag& done, uint32_t step, const ProbeWork& work) {
  ProbeResult result = read_result(done);
  if (work.timed) result.begin_cycles = sync::read_cycles();
  result.value = probe_chain(kProbeSeed, work.iterations) + step;
  ++result.count;
  if (work.timed) result.end_cycles = sync::read_cycles();
  write_result(done, result);
  done.raise(step);
}

SteppedProbe::SteppedProbe(std::string device, sync::Policy policy, bool has_cycles)
    : device_(std::move(device)),
      policy_(name_of(policy)),
      name_("probe of policy '" + policy_ + "'"),
      bank_(pool_, 8, "probe of " + device_),
      done_(bank_.make("probe step done")),
      waiter_(sync::make_waiter(policy)),
      comparable_(has_cycles && sync::cycle_counter_usable()) {}

// Does nothing when the next step is already armed.
void SteppedProbe::arm() {
  if (armed_ != started_) return;
  try {
    queue_ahead(armed_ + 1);
    ++armed_;
  } catch (const std::exception& error) {
    give_up(armed_ + 1, error.what());
  }
}

void SteppedProbe::start() {
  arm();
  // The tie comes before the hand-over, so that its time does not count.
  if (work_.timed) before_ = sync::tie_clocks();
  handed_over_ = ticks();
  try {
    begin(++started_);
  } catch (const std::exception& error) {
    give_up(started_, error.what());
  }
}

sync::WaitReport SteppedProbe::wait(double predicted_seconds, milliseconds deadline) {
  return finish_step(seen_ + 1, seen_ + 1, predicted_seconds, deadline);
}

// Hands all steps over at once if the policy can do that. Otherwise it starts each step after the end of the one
// before it.
void SteppedProbe::chain(int steps, milliseconds deadline) {
  if (steps <= 0) return;
  if (armed_ == started_ && started_ == seen_) {
    const uint32_t first = seen_ + 1, last = seen_ + static_cast<uint32_t>(steps);
    bool at_once = false;
    try {
      at_once = begin_chain(first, last);
    } catch (const std::exception& error) {
      give_up(first, error.what());
    }
    if (at_once) {
      armed_ = started_ = last;
      finish_step(first, last, 0, deadline);
      return;
    }
  }
  const auto end = Clock::now() + deadline;
  for (int i = 0; i < steps; ++i) {
    start();
    wait(0, std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(end - Clock::now())));
  }
}

// Waits for step `last`, brings its line to the host and checks it. Any failure gives the steps up and throws.
sync::WaitReport SteppedProbe::finish_step(uint32_t first, uint32_t last, double predicted, milliseconds deadline) {
  sync::WaitContext context;
  context.step = name_;
  context.device = device_;
  context.predicted_seconds = predicted;
  context.deadline = deadline;
  try {
    const sync::WaitReport report = await(last, context);
    // The time is read before fetch(), because copying a line back is no part of a step.
    seen_end_ = ticks();
    fetch();
    check_result(first, last);
    seen_ = last;
    return report;
  } catch (const std::exception& error) {
    give_up(last, error.what());
  }
}

// The result goes into the line before the epoch, as if the device had written the host's line itself.
void SteppedProbe::take_line(std::span<const uint32_t, 16> words) {
  ProbeResult result;
  std::memcpy(&result, words.data() + kResultOffset / sizeof(uint32_t), sizeof result);
  write_result(done_, result);
  if (!done_.reached(words[0])) done_.raise(words[0]);
}

sync::WaitReport SteppedProbe::await(uint32_t step, const sync::WaitContext& context) {
  return waiter_->wait(done_, step, context);
}

// Compares the epoch, the number of steps and the computed value with the expected ones. Then it converts the
// step's times. The value depends on the step's number, so an earlier step's result does not pass.
void SteppedProbe::check_result(uint32_t first, uint32_t last) {
  const ProbeResult result = read_result(done_);
  const uint32_t epoch = done_.epoch(), steps = last - first + 1;
  if (epoch != last) {
    throw Error("a step raised the wrong epoch", name_,
                "wanted " + std::to_string(last) + ", got " + std::to_string(epoch));
  }
  if (result.count != count_ + steps) {
    throw Error("steps were lost or ran twice", name_,
                std::to_string(result.count - count_) + " ran, " + std::to_string(steps) + " were started");
  }
  if (result.value != chain_value_ + last) {
    throw Error("a step computed a wrong value", name_,
                "wanted " + std::to_string(chain_value_ + last) + ", got " + std::to_string(result.value));
  }
  count_ = result.count;
  times_.reset();
  if (!work_.timed) return;
  const sync::ClockTie after = sync::tie_clocks();
  const auto seconds = [&](uint64_t cycles) { return sync::seconds_of(cycles, before_, after); };
  times_ = {seconds(handed_over_), seconds(result.begin_cycles), seconds(result.end_cycles), seconds(seen_end_)};
}

// After abandon() nothing of the earlier steps runs any more. The flag is raised to the number from which the next
// steps go on, and the device's count becomes the new base.
void SteppedProbe::give_up(uint32_t step, const std::string& why) {
  abandon();
  armed_ = started_ = seen_ = std::max({armed_, started_, step, done_.epoch()});
  if (done_.failed()) done_.clear_failure();
  if (!done_.reached(seen_)) done_.raise(seen_);
  count_ = read_result(done_).count;
  times_.reset();
  throw Error("a step of a waiting policy's probe failed",
              device_ + ", policy '" + policy_ + "', step " + std::to_string(step), why);
}

double SteppedProbe::round_trip_seconds() const {
  return static_cast<double>(seen_end_ - handed_over_) * tick_seconds_;
}

std::optional<StepTimes> SteppedProbe::last_step() const { return times_; }

// Two steps show that the policy works; the first one may compile a kernel.
void SteppedProbe::prepare(double work_seconds) {
  if (sync::cycle_counter_usable()) tick_seconds_ = seconds_per_cycle();
  for (int i = 0; i < 2; ++i) {
    start();
    wait(0, kFirstStep);
  }
  comparable_ = comparable_ && clocks_compare();
  calibrate(work_seconds);
}

// Whether the device's counter agrees with the host's: a step's times must lie between a read of the counter before its
// start and one after its end.
bool SteppedProbe::clocks_compare() {
  work_.timed = true;
  bool compare = true;
  for (int i = 0; i < 3 && compare; ++i) {
    const uint64_t before = sync::read_cycles();
    start();
    wait(0, kFirstStep);
    const uint64_t after = sync::read_cycles();
    const ProbeResult result = read_result(done_);
    compare = before < result.begin_cycles && result.begin_cycles <= result.end_cycles && result.end_cycles < after;
  }
  work_.timed = false;
  times_.reset();
  return compare;
}

// The least time of five steps with this many links, from start() to the return of wait(). The least one counts,
// because interruptions only add time.
double SteppedProbe::least_seconds(uint64_t iterations) {
  work_.iterations = iterations;
  chain_value_ = probe_chain(kProbeSeed, iterations);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    arm();
    const auto begin = Clock::now();
    start();
    wait(0, kFirstStep);
    least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return least;
}

// Finds the number of links for steps of work_seconds. The hand-over is in both measured times, so their difference is
// the work alone. The hand-over varies by more than a short step takes, so links are measured in steps of at least a
// millisecond. A second round at the found number corrects the error of an interruption in the first.
void SteppedProbe::calibrate(double work_seconds) {
  uint64_t iterations = 0;
  if (work_seconds > 0) {
    constexpr double kFirstGuess = 1.5e-9;  // seconds of a link on a processor of 4 GHz
    constexpr double kLong = 1e-3;
    const double measured_seconds = std::max(work_seconds, kLong);
    const double handover = least_seconds(0);
    double links = measured_seconds / kFirstGuess;
    for (int round = 0; round < 2; ++round) {
      const double work = least_seconds(static_cast<uint64_t>(std::llround(links))) - handover;
      links *= measured_seconds / std::max(work, measured_seconds / 100);
    }
    iterations = static_cast<uint64_t>(std::llround(links * work_seconds / measured_seconds)) + 1;
  }
  work_.iterations = iterations;
  chain_value_ = probe_chain(kProbeSeed, iterations);
}

}  // namespace tandem
