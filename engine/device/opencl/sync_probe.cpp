#include "engine/device/opencl/sync_probe.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "engine/device/lab/stepped_probe.h"
#include "engine/device/opencl/card.h"
#include "engine/device/opencl/event_wait.h"
#include "engine/device/opencl/gates.h"
#include "engine/device/opencl/memory.h"
#include "sync/cycle_clock.h"
#include "sync/error.h"

namespace tandem::opencl {
namespace {

// Build options of the kernels in doorbell.cl: the gates' atomics, and the cycle counter if the processor has one.
struct BuildOptions {
  std::string text;
  bool has_cycles = false;
};
BuildOptions probe_options(ProgramCache& programs) {
  const auto builds = [&](const std::string& options) {
    try {
      programs.kernel("doorbell", "probe_step", options);
      return true;
    } catch (const Error&) {
      return false;  // the next options are tried; a fault of the plain source shows when it is used
    }
  };
  const bool cpu = is_cpu(programs.handle().device);
  const std::string c11 = "-cl-std=CL3.0 -DC11_ATOMICS", cycles = " -DHAS_CYCLES";
  if (cpu && sync::cycle_counter_usable() && builds(c11 + cycles)) return {c11 + cycles, true};
  return {builds(c11) ? c11 : "", false};
}

// The common part of all probes: a queue, memory, and the kernel of one step (probe_step).
class OpenclProbe : public SteppedProbe {
 public:
  // shared: kernels write the host's line. Otherwise a buffer of the device takes its place.
  OpenclProbe(ProgramCache& programs, const BuildOptions& options, uint64_t max_allocation_bytes, sync::Policy policy,
              bool shared = true)
      : SteppedProbe(programs.handle().id, policy, options.has_cycles && shared),
        memory_(programs.handle(), shared, max_allocation_bytes),
        step_(programs.kernel("doorbell", "probe_step", options.text)) {
    cl_int code = CL_SUCCESS;
    queue_ = cl::CommandQueue(programs.handle().context, programs.handle().device, 0, &code);
    check(code, "clCreateCommandQueue", device());
    set_line(step_, 0, done());
  }
  ~OpenclProbe() override { queue_.finish(); }

 protected:
  void begin(uint32_t step) override {
    enqueue_step(step, nullptr, nullptr);
    flush();
  }
  void abandon() noexcept override { queue_.finish(); }  // all its kernels end by themselves

  void set_line(cl::Kernel& kernel, cl_uint index, const sync::Flag& flag) {
    const cl_mem buffer = memory_.buffer(flag.slot())();
    set_arg(kernel, index, buffer, "doorbell.cl");
    set_arg(kernel, index + 1, cl_ulong{flag.offset_bytes()}, "doorbell.cl");
  }
  void enqueue(const cl::Kernel& kernel, const std::vector<cl::Event>* waits, cl::Event* event) {
    check(queue_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1), cl::NDRange(1), waits, event),
          "clEnqueueNDRangeKernel", "doorbell.cl on " + device());
  }
  void enqueue_step(uint32_t step, const std::vector<cl::Event>* waits, cl::Event* event) {
    set_arg(step_, 2, cl_uint{step}, "doorbell.cl");
    set_arg(step_, 3, cl_ulong{work().iterations}, "doorbell.cl");
    set_arg(step_, 4, cl_uint{work().timed}, "doorbell.cl");
    enqueue(step_, waits, event);
  }
  void flush() { check(queue_.flush(), "clFlush", device()); }

  SlotMemory memory_;
  cl::CommandQueue queue_;
  cl::Kernel step_;
};

// The kernel raises the flag, and the host's waiter of the policy waits for it.
class FlagProbe final : public OpenclProbe {
 public:
  using OpenclProbe::OpenclProbe;
};

// The host blocks in clFinish().
class BlockingProbe final : public OpenclProbe {
 public:
  using OpenclProbe::OpenclProbe;

 protected:
  // clFinish() has no deadline. The queue holds nothing but steps, which end by themselves.
  sync::WaitReport await(uint32_t step, const sync::WaitContext& context) override {
    sync::WaitContext blocked = context;
    blocked.block = [this](std::chrono::milliseconds) { check(queue_.finish(), "clFinish", device()); };
    return OpenclProbe::await(step, blocked);
  }
};

// The host polls the event of a step. Steps of a chain wait for each other's events on the device.
class EventProbe final : public OpenclProbe {
 public:
  using OpenclProbe::OpenclProbe;

 protected:
  void begin(uint32_t step) override {
    last_ = cl::Event();
    enqueue_step(step, nullptr, &last_);
    flush();
  }
  bool begin_chain(uint32_t first, uint32_t last) override {
    // The queue is in order anyway. The waits are there because a chain measures what they cost.
    for (uint32_t step = first; step != last + 1; ++step) {
      const std::vector<cl::Event> before = {last_};
      cl::Event event;
      enqueue_step(step, step == first ? nullptr : &before, &event);
      last_ = event;
    }
    flush();
    return true;
  }
  sync::WaitReport await(uint32_t step, const sync::WaitContext& context) override {
    // abandon() has dropped the event.
    if (last_() == nullptr) throw Error("a step was never started", std::string(context.step));
    const sync::WaitReport report = wait_for_event(last_, context.deadline, device());
    last_ = cl::Event();
    if (!done().reached(step)) throw Error("the event ended before its step", std::string(context.step));
    return report;
  }
  void abandon() noexcept override {
    OpenclProbe::abandon();
    last_ = cl::Event();
  }

 private:
  cl::Event last_;
};

// The line is a buffer of the device, so the host cannot wait for its flag. clFinish() ends the step, and fetch() reads
// the line.
class LaunchProbe final : public OpenclProbe {
 public:
  LaunchProbe(ProgramCache& programs, const BuildOptions& options, uint64_t max_allocation_bytes)
      : OpenclProbe(programs, options, max_allocation_bytes, sync::Policy::blocking, false) {
    // The line starts zeroed, as the host's does.
    const cl_uchar nothing = 0;
    check(queue_.enqueueFillBuffer(memory_.buffer(done().slot()), nothing, 0, done().slot().size_bytes()),
          "clEnqueueFillBuffer", "a step's line on " + device());
  }

 protected:
  sync::WaitReport await(uint32_t, const sync::WaitContext&) override {
    const auto begin = std::chrono::steady_clock::now();
    check(queue_.finish(), "clFinish", device());
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 0};
  }
  void fetch() override {
    std::array<uint32_t, 16> words;
    check(queue_.enqueueReadBuffer(memory_.buffer(done().slot()), CL_TRUE, done().offset_bytes(), sizeof words,
                                   words.data()),
          "clEnqueueReadBuffer", "a step's line on " + device());
    take_line(words);
  }
};

// A step is queued ahead behind a gate, in one kernel (gated_step). Starting the step means raising the gate's flag.
class GateProbe final : public OpenclProbe {
 public:
  GateProbe(ProgramCache& programs, const BuildOptions& options, uint64_t max_allocation_bytes)
      : OpenclProbe(programs, options, max_allocation_bytes, sync::Policy::gate),
        go_(bank().make("probe gate")),
        gates_(programs, memory_, pool()),
        gated_(programs.kernel("doorbell", "gated_step", options.text)) {
    gates_.calibrate(queue_);
    // Arguments that are the same for every step.
    set_line(gated_, 0, go_);
    const cl_mem state = memory_.buffer(gates_.state())();
    set_arg(gated_, 2, state, "doorbell.cl");
    set_arg(gated_, 3, cl_ulong{0}, "doorbell.cl");
    set_line(gated_, 6, done());
  }
  ~GateProbe() override {
    gates_.cancel();
    queue_.finish();
  }

 protected:
  void queue_ahead(uint32_t step) override {
    enqueue_gated(step);
    flush();
  }
  void begin(uint32_t step) override { go_.raise(step); }
  // Queues the whole chain behind one gate, and then opens the gate.
  bool begin_chain(uint32_t first, uint32_t last) override {
    enqueue_gated(first);
    for (uint32_t step = first + 1; step != last + 1; ++step) enqueue_step(step, nullptr, nullptr);
    flush();
    go_.raise(first);
    return true;
  }
  sync::WaitReport await(uint32_t step, const sync::WaitContext& context) override {
    const sync::WaitReport report = OpenclProbe::await(step, context);
    if (gates_.poisoned()) throw Error("a step began before its gate was opened", device(), gates_.failure());
    return report;
  }
  void abandon() noexcept override {
    gates_.cancel();
    OpenclProbe::abandon();
    gates_.reset();
  }

 private:
  // Arguments in the order of gated_step in kernels/doorbell.cl. Arguments that never change are set by
  // the constructor.
  void enqueue_gated(uint32_t step) {
    set_arg(gated_, 4, cl_uint{gates_.remember({go_, step})}, "doorbell.cl");
    set_arg(gated_, 5, gates_.spins(), "doorbell.cl");
    set_arg(gated_, 8, cl_uint{step}, "doorbell.cl");
    set_arg(gated_, 9, cl_ulong{work().iterations}, "doorbell.cl");
    set_arg(gated_, 10, cl_uint{work().timed}, "doorbell.cl");
    enqueue(gated_, nullptr, nullptr);
  }

  sync::Flag go_;
  Gates gates_;
  cl::Kernel gated_;
};

// A resident kernel takes steps from its bell's line. Starting a step means ringing the bell.
class DoorbellProbe final : public OpenclProbe {
 public:
  DoorbellProbe(ProgramCache& programs, const BuildOptions& options, uint64_t max_allocation_bytes)
      : OpenclProbe(programs, options, max_allocation_bytes, sync::Policy::doorbell),
        apart_(bank().make("between done and doorbell")),
        bell_(bank().make("probe doorbell")),
        resident_(programs.kernel("doorbell", "doorbell", options.text)) {
    set_line(resident_, 0, bell_);
    set_line(resident_, 2, done());
    const double idle = std::chrono::duration<double>(kDoorbellIdle).count();
    set_arg(resident_, 4, static_cast<cl_ulong>(std::max(1.0, idle / look_seconds())), "doorbell.cl");
  }
  ~DoorbellProbe() override { stop(); }

 protected:
  void queue_ahead(uint32_t) override { make_resident(); }
  void begin(uint32_t step) override { ring(step); }
  // Rings for the last step; the resident kernel runs all steps up to it.
  bool begin_chain(uint32_t, uint32_t last) override {
    make_resident();
    ring(last);
    return true;
  }
  void abandon() noexcept override { stop(); }

 private:
  // Seconds of one look at the bell: the least of a few launches of the kernel that no ring interrupts.
  double look_seconds() {
    constexpr cl_ulong kLooks = 1 << 13;
    constexpr int kRounds = 4;
    set_arg(resident_, 4, kLooks, "doorbell.cl");
    double least = std::numeric_limits<double>::infinity();
    for (int round = 0; round <= kRounds; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      enqueue(resident_, nullptr, nullptr);
      check(queue_.finish(), "clFinish", device());
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (round > 0) least = std::min(least, seconds);  // the first launch compiles
    }
    return least / kLooks;
  }
  struct BellWords {  // words 4 to 7 of the bell's line (kernels/doorbell.cl)
    uint32_t timed, unused;
    uint64_t iterations;
  };
  void ring(uint32_t step) {
    auto& words = *reinterpret_cast<BellWords*>(bell_.line().unused);
    // Writes the words only if they have changed. The kernel looks at this line all the time, so every store must fetch
    // it back.
    if (words.timed != work().timed || words.iterations != work().iterations)
      words = {work().timed, 0, work().iterations};
    bell_.raise(step);
    make_resident();  // it may have ended since arm()
  }
  // Launches the kernel if it has gone. The kernel clears `resident` and then looks at the bell; the host
  // rings and then looks at `resident`. So either the kernel saw the bell, or the host sees that it has
  // gone (kernels/doorbell.cl).
  void make_resident() {
    std::atomic<uint32_t>& resident = bell_.line().arrivals;
    if (resident.load(std::memory_order_seq_cst) != 0) return;
    resident.store(1, std::memory_order_seq_cst);  // it starts later; until then no second one is needed
    enqueue(resident_, nullptr, nullptr);
    flush();
  }
  // A failed flag ends the kernel. Afterwards the bell is as it was before.
  void stop() {
    bell_.fail("the probe stops its kernel");
    queue_.finish();
    bell_.line().arrivals.store(0, std::memory_order_seq_cst);
    bell_.clear_failure();
  }

  sync::Flag apart_;  // an unused line: processors fetch lines in pairs, so done and bell lie apart
  sync::Flag bell_;
  cl::Kernel resident_;
};

}  // namespace

// prepare() runs steps, so a policy that does not work here throws its reason.
std::unique_ptr<SyncProbe> make_sync_probe(ProgramCache& programs, uint64_t max_allocation_bytes, sync::Policy policy,
                                           double work_seconds) {
  const BuildOptions options = probe_options(programs);
  std::unique_ptr<SteppedProbe> made = [&]() -> std::unique_ptr<SteppedProbe> {
    if (policy == sync::Policy::blocking)
      return std::make_unique<BlockingProbe>(programs, options, max_allocation_bytes, sync::Policy::blocking);
    if (policy == sync::Policy::event)
      return std::make_unique<EventProbe>(programs, options, max_allocation_bytes, sync::Policy::event);
    if (policy == sync::Policy::gate) return std::make_unique<GateProbe>(programs, options, max_allocation_bytes);
    if (policy == sync::Policy::doorbell)
      return std::make_unique<DoorbellProbe>(programs, options, max_allocation_bytes);
    return std::make_unique<FlagProbe>(programs, options, max_allocation_bytes, policy);
  }();
  made->prepare(work_seconds);
  return made;
}

std::unique_ptr<SyncProbe> make_launch_probe(ProgramCache& programs, uint64_t max_allocation_bytes,
                                             double work_seconds) {
  auto made = std::make_unique<LaunchProbe>(programs, probe_options(programs), max_allocation_bytes);
  made->prepare(work_seconds);
  return made;
}

}  // namespace tandem::opencl
