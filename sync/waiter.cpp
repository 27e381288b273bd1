#include "sync/waiter.h"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

#include "sync/clock.h"
#include "sync/deadline.h"
#include "sync/error.h"

namespace tandem::sync {
namespace {

// The instruction tells the core that it waits, so a second thread of the core gets its units.
void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// All errors of a wait name the step, the flag and both epochs. The failure of a step comes with its own words.
[[noreturn]] void throw_wait_failed(const std::string& why, const Flag& flag, uint32_t epoch,
                                    const WaitContext& context, const std::string& hint = "") {
  throw Error(why,
              "step '" + std::string(context.step) + "', flag '" + flag.name() + "', device " +
                  std::string(context.device) + ", wanted epoch " + std::to_string(epoch) + ", seen " +
                  std::to_string(flag.epoch()),
              flag.failed() ? flag.failure() : hint);
}

// One wait in progress: reads the flag, and throws when the flag failed or the deadline passed.
class Attempt {
 public:
  Attempt(const Flag& flag, uint32_t epoch, const WaitContext& context)
      : flag_(flag), epoch_(epoch), context_(context), start_(Clock::now()), deadline_(context.deadline) {}

  bool done() const {
    if (flag_.reached(epoch_))
      return !flag_.failed() || (throw_wait_failed("a step failed", flag_, epoch_, context_), false);
    if (flag_.failed()) throw_wait_failed("a step failed", flag_, epoch_, context_);
    return false;
  }
  void check_deadline() {
    if (deadline_.passed())
      throw_late("It did not come within " + std::to_string(context_.deadline.count()) +
                 " ms: who should raise it hangs, or has more to do than that");
  }
  // Polls for at most `seconds` and keeps the core busy.
  bool spin(double seconds) {
    const auto begin = Clock::now();
    bool reached = false;
    do {
      for (int i = 0; i < 64 && !reached; ++i) {
        reached = done();
        if (!reached) pause_core();
      }
    } while (!reached && seconds_since(begin) < seconds);
    spun_ += seconds_since(begin);
    return reached;
  }
  // Polls, but gives the core to other threads between looks.
  bool yield(double seconds) {
    const auto begin = Clock::now();
    do {
      if (done()) return true;
      sched_yield();
    } while (seconds_since(begin) < seconds);
    return false;
  }
  // Leaves the core until the signaller has made progress, by the signaller's own blocking call or by a futex on the
  // epoch. The slices of 50 ms bound the cost of a lost wake-up, since a kernel cannot wake a futex.
  void block() {
    while (!done()) {
      check_deadline();
      if (context_.block) {
        block_in_the_signaller();
        // The signaller is idle and the flag is still down. Another thread may yet raise it, and looking is no reason
        // to spin.
        if (!done()) flag_.sleep_until(epoch_, std::chrono::milliseconds(1));
        continue;
      }
      flag_.sleep_until(epoch_, std::chrono::milliseconds(50));
    }
  }
  // The signaller's own call knows neither the step nor the waits before this one. When it gives up because all of its
  // time is over, the error names the wait's deadline and keeps the call's words as the reason.
  void block_in_the_signaller() {
    const std::chrono::milliseconds allowed = deadline_.remaining();
    const auto begin = Clock::now();
    try {
      context_.block(allowed);
    } catch (const Error& error) {
      if (Clock::now() - begin < allowed) throw;
      throw_late(error.what());
    }
  }
  void sleep(double seconds) {
    const timespec time{static_cast<time_t>(seconds),
                        static_cast<long>((seconds - static_cast<time_t>(seconds)) * 1e9)};
    nanosleep(&time, nullptr);
  }
  [[noreturn]] void throw_late(std::string why) const {
    if (!context_.advice.empty()) why.append(". ").append(context_.advice);
    throw_wait_failed("a wait passed its deadline", flag_, epoch_, context_, why);
  }
  WaitReport report() const { return {seconds_since(start_), spun_}; }
  bool shares_core() const { return context_.shares_core; }

 private:
  const Flag& flag_;
  uint32_t epoch_;
  const WaitContext& context_;
  Clock::time_point start_;
  Deadline deadline_;
  double spun_ = 0;
};

class BlockingWaiter final : public Waiter {
 public:
  WaitReport wait(const Flag& flag, uint32_t epoch, const WaitContext& context) override {
    Attempt attempt(flag, epoch, context);
    attempt.block();
    return attempt.report();
  }
};

// Spins for a bounded time, then yields, then blocks. An unbounded spinner that shares its core with the work it waits
// for would delay that work by whole scheduler ticks (4 to 8 ms measured).
// A thread that wakes up on the spinner's core waits until the kernel takes that core from the spinner.
constexpr double kSpinSeconds = 2e-3, kSpinSecondsOfSharedCore = 5e-6, kYieldSeconds = 10e-3;

void spin_yield_block(Attempt& attempt) {
  if (attempt.spin(attempt.shares_core() ? kSpinSecondsOfSharedCore : kSpinSeconds) || attempt.yield(kYieldSeconds))
    return;
  attempt.block();
}

// Spins for a moment, in case the wait is almost over, then blocks on the signaller's own event (or the futex).
class EventWaiter final : public Waiter {
 public:
  WaitReport wait(const Flag& flag, uint32_t epoch, const WaitContext& context) override {
    constexpr double kLookSeconds = 20e-6;  // the time in which a futex wakes a thread
    Attempt attempt(flag, epoch, context);
    // On a shared core the work of another thread goes before a faster wake-up.
    if (!attempt.spin(context.shares_core ? 0 : kLookSeconds)) attempt.block();
    return attempt.report();
  }
};

// Looks without reading the clock, for a hand-over that is almost instant. A reading of the clock takes 20 ns, and the
// waits of a doorbell take 100 ns (measured). Takes at most a microsecond. False for a failed flag: the caller's next
// step reports it.
bool seen_at_once(const Flag& flag, uint32_t epoch) {
  constexpr int kLooks = 64;
  for (int look = 0; look < kLooks; ++look) {
    if (flag.reached(epoch)) return !flag.failed();
    // Looks without a pause delay the line on its way. With a pause after each look, the flag is seen late.
    if (look % 4 == 3) pause_core();
  }
  return false;
}

// The policy "spin". It also serves the policies that hand work over in another way and see its end like this.
class SpinWaiter final : public Waiter {
 public:
  WaitReport wait(const Flag& flag, uint32_t epoch, const WaitContext& context) override {
    if (seen_at_once(flag, epoch)) return {};
    Attempt attempt(flag, epoch, context);
    spin_yield_block(attempt);
    return attempt.report();
  }
};

// Lets sleeps end on time. By default the system lets a thread oversleep by up to 50 us. The destructor restores the
// thread's own setting, because other code may run on the thread.
class PreciseSleep {
 public:
  PreciseSleep() : slack_(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)) { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }
  ~PreciseSleep() {
    if (slack_ > 0) prctl(PR_SET_TIMERSLACK, slack_, 0, 0, 0);
  }
  PreciseSleep(const PreciseSleep&) = delete;
  PreciseSleep& operator=(const PreciseSleep&) = delete;

 private:
  int slack_;
};

// H7: sleeps for the predicted time less the time of a wake-up, then polls.
class PredictWaiter final : public Waiter {
 public:
  WaitReport wait(const Flag& flag, uint32_t epoch, const WaitContext& context) override {
    Attempt attempt(flag, epoch, context);
    if (attempt.done()) return attempt.report();
    // A sleep ends 15 to 25 us late (measured, median). Below about 100 us, spinning costs less than a sleep.
    constexpr double kWakeSeconds = 50e-6, kWorthSleeping = 100e-6, kLongestSleep = 1.0;
    if (context.predicted_seconds > kWorthSleeping) {
      {
        const PreciseSleep precise;
        attempt.sleep(std::min({context.predicted_seconds - kWakeSeconds, kLongestSleep,
                                std::chrono::duration<double>(context.deadline).count()}));
      }
      if (attempt.done()) {
        WaitReport report = attempt.report();
        report.overslept = true;
        return report;
      }
    }
    spin_yield_block(attempt);
    return attempt.report();
  }
};

}  // namespace

std::string name_of(Policy policy) {
  switch (policy) {
    case Policy::blocking:
      return "blocking";
    case Policy::event:
      return "event";
    case Policy::spin:
      return "spin";
    case Policy::predict:
      return "predict";
    case Policy::gate:
      return "gate";
    case Policy::doorbell:
      return "doorbell";
  }
  TANDEM_CHECK(false, "a waiting policy without a name");
}

Policy policy_named(std::string_view name) {
  std::string names;
  for (const Policy policy : kPolicies) {
    if (name == name_of(policy)) return policy;
    names += (names.empty() ? "" : ", ") + name_of(policy);
  }
  throw Error("unknown waiting policy", std::string(name), "Use one of: " + names);
}

std::vector<std::string> waiter_names() {
  std::vector<std::string> names;
  for (const Policy policy : kPolicies) names.push_back(name_of(policy));
  return names;
}

// Gates and doorbells hand work over without the host. The host sees their end by spinning.
std::unique_ptr<Waiter> make_waiter(Policy policy) {
  switch (policy) {
    case Policy::blocking:
      return std::make_unique<BlockingWaiter>();
    case Policy::event:
      return std::make_unique<EventWaiter>();
    case Policy::predict:
      return std::make_unique<PredictWaiter>();
    case Policy::spin:
    case Policy::gate:
    case Policy::doorbell:
      return std::make_unique<SpinWaiter>();
  }
  TANDEM_CHECK(false, "a waiting policy without a waiter");
}

}  // namespace tandem::sync
