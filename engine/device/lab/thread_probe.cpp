#include "engine/device/lab/thread_probe.h"

#include <sched.h>

#include <atomic>
#include <cmath>
#include <utility>

#include "engine/device/lab/stepped_probe.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kDrain{10000};
constexpr uint32_t kLooksInTurn = 32;  // looks at a word before the core is offered to other threads

// The policies that only queue a step: the policy differs in how the host waits.
class ThreadProbe : public SteppedProbe {
 public:
  ThreadProbe(std::string device, sync::Policy policy, sync::Worker& thread)
      : SteppedProbe(std::move(device), policy, true), thread_(thread) {}
  ~ThreadProbe() override { drain(); }

 protected:
  void begin(uint32_t step) override {
    // The job has a copy of the work, because the host may set other work for later steps.
    thread_.push([this, step, work = work()] { run_probe_step(done(), step, work); });
  }
  void abandon() noexcept override { drain(); }
  // Every job ends by itself in less time. If its thread gets no core for this long, waiting longer does not help.
  void drain() { TANDEM_CHECK(thread_.drain(kDrain), "the thread of " + this->device() + " does not answer"); }

  sync::Worker& thread_;
};

// The policy "gate": a step is queued ahead, and the device's thread sleeps on the flag `go_` until the host raises it.
class ThreadGateProbe final : public ThreadProbe {
 public:
  ThreadGateProbe(std::string device, sync::Worker& thread)
      : ThreadProbe(std::move(device), sync::Policy::gate, thread), go_(bank().make("probe gate")) {}
  ~ThreadGateProbe() override { open_for_good(); }

 protected:
  void queue_ahead(uint32_t step) override {
    thread_.push([this, step, work = work()] { pass_gate(step, step, work); });
  }
  void begin(uint32_t step) override { go_.raise(step); }
  bool begin_chain(uint32_t first, uint32_t last) override {
    thread_.push([this, first, last, work = work()] { pass_gate(first, last, work); });
    go_.raise(first);
    return true;
  }
  void abandon() noexcept override {
    open_for_good();
    go_.clear_failure();
  }

 private:
  // Sleeps on the flag in slices, and so notices that the bound has passed or that the probe gave up.
  void pass_gate(uint32_t first, uint32_t last, const ProbeWork& work) {
    constexpr milliseconds kBound{5000}, kSlice{50};
    const auto begin = Clock::now();
    while (!go_.reached(first) && !go_.failed() && Clock::now() - begin < kBound) go_.sleep_until(first, kSlice);
    if (!go_.reached(first)) return;  // the probe gave up; wait() reports it
    for (uint32_t step = first; step != last + 1; ++step) run_probe_step(done(), step, work);
  }
  void open_for_good() {
    go_.fail("the probe gave its step up");
    drain();
  }

  sync::Flag go_;
};

// The policy "doorbell": a resident job polls the flag `bell_` and runs the steps up to its epoch.
class ThreadDoorbellProbe final : public ThreadProbe {
 public:
  ThreadDoorbellProbe(std::string device, sync::Worker& thread)
      : ThreadProbe(std::move(device), sync::Policy::doorbell, thread), bell_(bank().make("probe doorbell")) {}
  ~ThreadDoorbellProbe() override { stop(); }

 protected:
  void queue_ahead(uint32_t) override { make_resident(); }
  void begin(uint32_t step) override {
    rung_ = work();
    bell_.raise(step);
    make_resident();  // the resident job may have ended since arm()
  }
  bool begin_chain(uint32_t, uint32_t last) override {
    begin(last);
    return true;
  }
  // The thread may share the host's core, as the NPU and the orchestrator do on two cores. So each of them yields the
  // core while it polls.
  sync::WaitReport await(uint32_t step, const sync::WaitContext& context) override {
    const auto begin = Clock::now();
    for (uint32_t look = 1; !done().reached(step); ++look) {
      if (look % kLooksInTurn != 0) continue;
      sched_yield();
      if (Clock::now() - begin > context.deadline) return ThreadProbe::await(step, context);  // it reports the deadline
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return {seconds, seconds};
  }
  void abandon() noexcept override {
    stop();
    bell_.clear_failure();
  }

 private:
  // This crosses the end of serve(): either serve() sees the bell, or this function sees that serve() has ended.
  void make_resident() {
    if (resident().load(std::memory_order_seq_cst) != 0) return;
    resident().store(1, std::memory_order_seq_cst);
    thread_.push([this] { serve(); });
  }
  // Ends the resident job. The flag's failure also ends waits on it.
  void stop() {
    bell_.fail("the probe stops its thread");
    drain();
  }
  // 1: the resident job runs or is queued. The bell's line holds it in its word `arrivals`.
  std::atomic<uint32_t>& resident() { return bell_.line().arrivals; }

  // Polls the bell and runs the steps up to its epoch. It ends after kThreadDoorbellIdle without a step. It first marks
  // itself as gone and then looks at the bell once more, so that no ring is lost.
  void serve() {
    uint32_t step = done().epoch();
    auto idle_since = Clock::now();
    for (uint32_t look = 1; !bell_.failed(); ++look) {
      if (static_cast<int32_t>(bell_.epoch() - step) > 0) {
        const ProbeWork work = rung_;  // the bell's epoch publishes it
        for (const uint32_t wanted = bell_.epoch(); step != wanted;) run_probe_step(done(), ++step, work);
        idle_since = Clock::now();
      } else if (look % kLooksInTurn == 0) {
        sched_yield();  // the host may need this core to ring the bell
        if (Clock::now() - idle_since < kThreadDoorbellIdle) continue;
        resident().store(0, std::memory_order_seq_cst);
        if (bell_.line().epoch.load(std::memory_order_seq_cst) == step) return;
        resident().store(1, std::memory_order_seq_cst);
      }
    }
    resident().store(0, std::memory_order_seq_cst);
  }

  sync::Flag bell_;
  ProbeWork rung_;  // written before the bell is raised, read after its epoch was seen
};

}  // namespace

std::unique_ptr<SyncProbe> make_thread_probe(std::string device, sync::Worker& thread, sync::Policy policy,
                                             double work_seconds) {
  std::unique_ptr<SteppedProbe> made;
  if (policy == sync::Policy::gate) {
    made = std::make_unique<ThreadGateProbe>(std::move(device), thread);
  } else if (policy == sync::Policy::doorbell) {
    made = std::make_unique<ThreadDoorbellProbe>(std::move(device), thread);
  } else {
    made = std::make_unique<ThreadProbe>(std::move(device), policy, thread);
  }
  made->prepare(work_seconds);
  return made;
}

// A policy passes when one step without work ends within 2 s.
std::vector<PolicyTest> test_thread_policies(const std::string& device, sync::Worker& thread) {
  std::vector<PolicyTest> tests;
  for (const sync::Policy policy : sync::kPolicies) {
    PolicyTest test{policy, false, ""};
    try {
      const auto probe = make_thread_probe(device, thread, policy, 0);
      probe->arm();
      probe->start();
      const sync::WaitReport report = probe->wait(0, milliseconds(2000));
      test.passed = true;
      test.reason = "a step's end was seen after " + std::to_string(std::lround(report.seconds * 1e6)) + " us";
    } catch (const std::exception& error) {
      test.reason = error.what();
    }
    tests.push_back(test);
  }
  return tests;
}

}  // namespace tandem
