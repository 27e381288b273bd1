#include "engine/device/host/host_device.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "engine/device/host/arithmetic.h"
#include "engine/device/litmus_agents.h"
#include "engine/device/thread_probe.h"
#include "sync/affinity.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/waiter.h"

namespace tandem {
namespace {

struct HostProgram : Program {
  std::vector<Operator> operators;
};

struct Launch {
  HostProgram* program;
  std::vector<sync::WaitFor> waits;
  sync::Signal signal;
  std::function<void()> job;  // instead of a program
};

// Longer than any step that another device's thread may be busy with.
constexpr std::chrono::seconds kClosing{120};

// What both the loops of the contract and the reference compute.
constexpr Feature kKnownFeatures[] = {
    Feature::products,        Feature::gather,           Feature::scatter,    Feature::norm,
    Feature::rotation,        Feature::attention,        Feature::activation, Feature::element_wise,
    Feature::softmax,         Feature::comparison,       Feature::selection,  Feature::residual,
    Feature::scaled_residual, Feature::scaled_embedding, Feature::window,     Feature::gelu,
    Feature::soft_cap};

class HostDevice : public Device {
 public:
  // With a thread of its own.
  HostDevice(HostArithmetic arithmetic, int threads, const host::HostLoops& loops, const DeviceOptions& options)
      : arithmetic_(arithmetic), loops_(loops), waiter_(sync::make_waiter(options.sync_policy)) {
    std::vector<int> cores = options.gpu_cores;
    cores.insert(cores.end(), options.npu_cores.begin(), options.npu_cores.end());
    describe(threads, cores);
    worker_ = std::thread([this, threads, cores] {
      pin_this_thread(cores);
      host::Workers workers(threads, cores);
      serve(workers);
    });
    info_.policies = test_thread_policies(info_.id, thread_queue());
  }
  // On another device's thread; further cores than the first help it.
  HostDevice(ThreadQueue beside, const DeviceInfo& other, const host::HostLoops& loops, const DeviceOptions& options)
      : arithmetic_(HostArithmetic::contract),
        loops_(loops),
        waiter_(sync::make_waiter(options.sync_policy)),
        beside_(std::move(beside)) {
    const int threads = std::max(1, static_cast<int>(other.cores.size()));
    describe(threads, other.cores);
    info_.driver = "built in, on the thread of " + other.id;
    info_.thread_of = other.id;
    info_.policies = other.policies;
    beside_workers_ = std::make_unique<host::Workers>(threads, other.cores);
  }

  ~HostDevice() override {
    std::deque<Launch> dropped;
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      dropped.swap(queue_);
    }
    for (const Launch& launch : dropped) fail_signal(launch, "the host device was closed before the step ran");
    changed_.notify_all();
    if (worker_.joinable()) worker_.join();
    if (beside_.drained) beside_.drained(kClosing);  // what is queued there refers to this device
  }

  const DeviceInfo& info() const override { return info_; }
  Support supports(const Operator& op) const override {
    if (const auto missing = missing_feature(op, kKnownFeatures))
      return {false, std::string("no loop for ") + name_of(*missing)};
    const auto* attention = std::get_if<Attention>(&op.body);
    if (attention && attention->cache.head_dim_v > host::kMaxHeadDimV)
      return {false, "a value head of more than " + std::to_string(host::kMaxHeadDimV) + " elements"};
    return {};
  }

  std::unique_ptr<Program> prepare(std::span<const Operator> operators) override {
    auto program = std::make_unique<HostProgram>();
    for (const Operator& op : operators) {
      check_regions(op);
      if (const Support support = supports(op); !support.yes)
        throw Error("the device does not support an operator", op.name + " on " + info_.id, support.reason);
      program->operators.push_back(op);
    }
    return program;
  }

  void launch(Program& program, std::span<const sync::WaitFor> waits, sync::Signal signal) override {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back({&dynamic_cast<HostProgram&>(program), {waits.begin(), waits.end()}, signal, {}});
    }
    wake();
  }

  void batch(bool) override {}  // its thread runs beside whoever launches

  // A round figure of one core of a server: 32 GFLOP/s with the contract's decoding, 16 GB/s, 8 W.
  Cost estimate(std::span<const Operator> operators) const override {
    const double cores = std::max(1, info_.compute_units);
    Cost cost;
    for (const Operator& op : operators) {
      const Work of = work(op);
      cost.flops += of.flops;
      cost.bytes += of.bytes;
      cost.seconds += std::max(of.flops / (32e9 * cores), of.bytes / 16e9);
    }
    cost.joules = cost.seconds * 8 * cores;
    return cost;
  }

  void finish(std::chrono::milliseconds deadline) override {
    if (!drained(deadline))
      throw Error("a device did not finish in time", info_.id + ", " + std::to_string(deadline.count()) + " ms");
    std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  void record_spans(bool on) override {
    std::lock_guard lock(mutex_);
    recording_ = on;
  }
  std::vector<DeviceSpan> take_spans() override {
    std::lock_guard lock(mutex_);
    return std::exchange(spans_, {});
  }

  std::unique_ptr<SyncProbe> sync_probe(std::string_view policy, double work_seconds) override {
    require_policy(info_, policy);
    return make_thread_probe(info_.id, thread_queue(), policy, work_seconds);
  }
  std::unique_ptr<LitmusAgent> litmus_agent() override { return make_queue_litmus_agent(info_.id, thread_queue()); }

 private:
  ThreadQueue thread_queue() {
    return {[this](std::function<void()> job) {
              {
                std::lock_guard lock(mutex_);
                queue_.push_back({nullptr, {}, {}, std::move(job)});
              }
              wake();
            },
            [this](std::chrono::milliseconds deadline) { return drained(deadline); }};
  }
  bool drained(std::chrono::milliseconds deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, deadline, [this] { return queue_.empty() && !running_; });
  }

  void describe(int threads, const std::vector<int>& cores) {
    const bool reference = arithmetic_ == HostArithmetic::reference;
    info_.id = "host";
    info_.name = reference ? "host reference (double-precision sums)" : std::string("host contract, ") + loops_.name;
    info_.driver = "built in";
    info_.kind = DeviceKind::host;
    info_.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    info_.max_allocation_bytes = info_.memory_bytes;
    info_.compute_units = threads;
    info_.cores = cores;
    info_.zero_copy = true;
    info_.zero_copy_note = "it computes in the pool";
    volatile float third = 1.0f / 3.0f;  // 3 * (1/3) - 1 is zero when the product is rounded first
    info_.fused_fma = !reference && __builtin_fmaf(third, 3.0f, -1.0f) != 0;
  }

  // One turn of the worker for what was just queued.
  void wake() {
    if (beside_.push) beside_.push([this] { serve_next(*beside_workers_); });
    changed_.notify_all();
  }

  void serve(host::Workers& workers) {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
        if (stop_) return;
      }
      serve_next(workers);
    }
  }

  void serve_next(host::Workers& workers) {
    std::unique_lock lock(mutex_);
    if (queue_.empty()) return;  // dropped when the device was closed
    const Launch launch = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    const bool skip = failure_ != nullptr;
    lock.unlock();
    std::exception_ptr failed;
    if (launch.job) {
      launch.job();
    } else {
      failed = skip ? skip_launch(launch) : execute(launch, workers);
    }
    lock.lock();
    if (failed && !failure_) failure_ = failed;
    running_ = false;
    changed_.notify_all();
  }

  // Runs one program; what it throws is stored on its flag and returned.
  std::exception_ptr execute(const Launch& launch, host::Workers& workers) {
    const Operator* current = nullptr;
    try {
      const std::string step = launch.program->operators.empty() ? "empty" : launch.program->operators.front().name;
      for (const sync::WaitFor& wait : launch.waits)
        waiter_->wait(wait.flag, wait.epoch, {.step = step, .device = info_.id, .block = {}});
      double start = now_seconds();
      for (const Operator& op : launch.program->operators) {
        current = &op;
        if (arithmetic_ == HostArithmetic::reference)
          host::run_reference(op);
        else
          host::run_contract(op, loops_, workers);
        const double end = now_seconds();
        add_span({launch.program, start, end, static_cast<int>(&op - launch.program->operators.data())});
        start = end;
      }
      if (launch.signal.flag) launch.signal.flag.raise(launch.signal.epoch);
      return nullptr;
    } catch (const std::exception& error) {
      fail_signal(launch, (current ? current->name + " on " + info_.id + ": " : "") + error.what());
      return std::current_exception();
    }
  }

  std::exception_ptr skip_launch(const Launch& launch) {
    fail_signal(launch, "skipped, because an earlier step failed on " + info_.id);
    return nullptr;
  }

  static void fail_signal(const Launch& launch, const std::string& message) {
    if (launch.signal.flag) launch.signal.flag.fail(message);
  }

  void add_span(const DeviceSpan& span) {
    std::lock_guard lock(mutex_);
    if (recording_) spans_.push_back(span);
  }

  const HostArithmetic arithmetic_;
  const host::HostLoops& loops_;  // static tables
  DeviceInfo info_;
  std::unique_ptr<sync::Waiter> waiter_;  // used by the worker alone

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Launch> queue_;
  std::vector<DeviceSpan> spans_;
  std::exception_ptr failure_;
  bool running_ = false, recording_ = false, stop_ = false;
  std::thread worker_;
  ThreadQueue beside_;  // empty: it has a thread of its own
  std::unique_ptr<host::Workers> beside_workers_;
};

}  // namespace

DeviceCount host_device_count() { return {1, 0}; }

std::unique_ptr<Device> open_host_device(int, const DeviceOptions& options) {
  const size_t given = options.gpu_cores.size() + options.npu_cores.size();
  const size_t threads = given > 0 ? given : std::max(1u, std::thread::hardware_concurrency());
  return make_host_device(HostArithmetic::contract, static_cast<int>(std::min<size_t>(threads, 16)), options);
}

std::unique_ptr<Device> open_host_beside(ThreadQueue thread, const DeviceInfo& other, const DeviceOptions& options) {
  return std::make_unique<HostDevice>(std::move(thread), other, host::best_loops(), options);
}

std::unique_ptr<Device> make_host_device(HostArithmetic arithmetic, int threads, const DeviceOptions& options,
                                         const char* loops) {
  const host::HostLoops* chosen = *loops ? host::find_loops(loops) : &host::best_loops();
  if (!chosen) throw Error("this machine cannot run these loops", loops, "leave the name empty for the fastest");
  return std::make_unique<HostDevice>(arithmetic, std::max(1, threads), *chosen, options);
}

}  // namespace tandem
