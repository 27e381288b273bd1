#include "engine/device/thread_device.h"

#include <utility>

#include "engine/device/device_id.h"
#include "engine/device/lab/litmus_agents.h"
#include "engine/device/lab/thread_probe.h"
#include "sync/clock.h"
#include "sync/duration_predictor.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Work that calls a function for each operator in turn. An error names the operator that failed.
class OneByOne final : public ThreadWork {
 public:
  OneByOne(std::span<const Operator> operators, std::function<void(const Operator&)> run)
      : operators_(operators.begin(), operators.end()), run_(std::move(run)) {
    // Operands are checked once for all runs of the program.
    for (const Operator& op : operators_) check_regions(op);
  }
  void run(const std::function<void()>& ended) override {
    for (const Operator& op : operators_) {
      try {
        run_(op);
      } catch (const std::exception& error) {
        throw Error("an operator failed", op.name, error.what());
      }
      if (ended) ended();
    }
  }

 private:
  const std::vector<Operator> operators_;
  const std::function<void(const Operator&)> run_;
};

}  // namespace

std::unique_ptr<ThreadWork> one_by_one(std::span<const Operator> operators, std::function<void(const Operator&)> run) {
  return std::make_unique<OneByOne>(operators, std::move(run));
}

class ThreadDevice::ThreadProgram final : public Program {
 public:
  ThreadProgram(ThreadDevice& owner, std::string first, std::unique_ptr<ThreadWork> what)
      : device(owner), name(std::move(first)), work(std::move(what)) {}
  double compile_seconds() const override { return work->compile_seconds(); }

  ThreadDevice& device;
  const std::string name;  // name of its first operator
  const std::unique_ptr<ThreadWork> work;
  sync::DurationPredictor waits;  // durations of the device's thread's waits
};

ThreadDevice::ThreadDevice(DeviceInfo info, std::unique_ptr<Processor> processor, const DeviceOptions& options,
                           const std::vector<int>& thread_cores)
    : info_(std::move(info)),
      deadline_(options.wait_deadline),
      processor_(std::move(processor)),
      waits_(info_.id, options.sync_policy, options.wait_deadline, options.shares_core),
      own_thread_(std::make_unique<sync::Worker>(thread_cores)),
      thread_(*own_thread_) {
  describe(options);
  info_.shares_thread = true;
  // The policies are tested on the very thread that will run steps.
  info_.policies = test_thread_policies(info_.id, thread_);
}

ThreadDevice::ThreadDevice(DeviceInfo info, std::unique_ptr<Processor> processor, const DeviceOptions& options,
                           ThreadDevice& other)
    : info_(std::move(info)),
      deadline_(options.wait_deadline),
      processor_(std::move(processor)),
      waits_(info_.id, options.sync_policy, options.wait_deadline, options.shares_core),
      thread_(other.thread_) {
  describe(options);
  info_.thread_of = other.info_.thread_of.empty() ? other.info_.id : other.info_.thread_of;
  // Both devices use one thread, so the other device's tests hold here too.
  info_.policies = other.info_.policies;
}

// Jobs that are still queued see the failure and fail their flags. waits_.close() ends a wait in progress.
ThreadDevice::~ThreadDevice() {
  failure_.keep("the device was closed");
  waits_.close();
  if (!own_thread_) thread_.drain(deadline_);  // the jobs in its queue refer to this device
}

void ThreadDevice::describe(const DeviceOptions& options) {
  info_.zero_copy = true;
  info_.zero_copy_note = "its thread reads and writes the pool's own addresses";
  info_.parameters = to_string(options.parameters);
}

// Programs and estimates are for operators that the device takes. Any other operator is an error of the plan.
void ThreadDevice::require_support(const Operator& op) const {
  if (const Support support = supports(op); !support.yes)
    throw Error("the device does not take an operator", op.name + " on " + info_.id, support.reason);
}

std::unique_ptr<Program> ThreadDevice::prepare(std::span<const Operator> operators) {
  for (const Operator& op : operators) require_support(op);
  const std::string name = operators.empty() ? "nothing" : operators.front().name;
  return std::make_unique<ThreadProgram>(*this, name, processor_->prepare(operators));
}

Cost ThreadDevice::estimate(std::span<const Operator> operators) const {
  for (const Operator& op : operators) require_support(op);
  return processor_->estimate(operators);
}

// Error when a program belongs to another thread: launch() casts programs without a check.
void ThreadDevice::require_own(std::span<const PlannedLaunch> launches) const {
  for (const PlannedLaunch& planned : launches) {
    const auto* program = dynamic_cast<const ThreadProgram*>(planned.program);
    if (program == nullptr || &program->device.thread_ != &thread_)
      throw Error("a program was launched on a device that did not prepare it", info_.id, "prepare it on this device");
  }
}

// The result marks the sequence as checked, so its launches need no check.
std::unique_ptr<const LaunchSequence::Built> ThreadDevice::build(std::span<const PlannedLaunch> launches) {
  require_own(launches);
  return std::make_unique<OfThisThread>();
}

// Pushes one job for the whole sequence. Pushing a hundred jobs would cost the orchestrator, maybe on this very core,
// more than many of the jobs take.
void ThreadDevice::launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) {
  if (sequence->launches().empty()) return;
  if (sequence->built() == nullptr) require_own(sequence->launches());
  thread_.push([sequence = std::move(sequence), base] {
    for (const PlannedLaunch& planned : sequence->launches()) {
      auto& program = static_cast<ThreadProgram&>(*planned.program);
      program.device.execute(program, planned, base);
    }
  });
}

// Runs one program of a sequence on the device's thread. After the first failure it runs nothing more and fails every
// signal, so that programs that wait for it fail too.
void ThreadDevice::execute(ThreadProgram& program, const PlannedLaunch& planned, uint32_t base) {
  std::string broken = failure_.message();
  if (broken.empty()) {
    try {
      waits_.wait(program.name, planned.waits, base, program.waits);
      run(program);
    } catch (const std::exception& error) {
      broken = info_.id + ", step '" + program.name + "': " + error.what();
      failure_.keep(broken);
    }
  }
  if (!planned.signal.flag) return;
  broken.empty() ? planned.signal.flag.raise(planned.signal.epoch + base) : planned.signal.flag.fail(broken);
}

// While spans are recorded, an operator's span begins at the end of the one before it.
void ThreadDevice::run(const ThreadProgram& program) {
  if (!recording_) return program.work->run({});
  std::vector<DeviceSpan> measured;
  double start = now_seconds();
  program.work->run([&] {
    const double end = now_seconds();
    measured.push_back({&program, start, end, static_cast<int>(measured.size())});
    start = end;
  });
  std::lock_guard lock(mutex_);
  spans_.insert(spans_.end(), measured.begin(), measured.end());
}

// Throws the first failure and forgets it, so that the device can be used again.
void ThreadDevice::finish(std::chrono::milliseconds deadline) {
  if (!thread_.drain(deadline)) throw did_not_finish(deadline, info_.id);
  if (const std::string message = failure_.take(); !message.empty()) throw Error("a step failed", info_.id, message);
}

std::vector<DeviceSpan> ThreadDevice::take_spans() {
  std::lock_guard lock(mutex_);
  return std::exchange(spans_, {});
}

std::unique_ptr<SyncProbe> ThreadDevice::sync_probe(sync::Policy policy, double work_seconds) {
  require_policy(info_, policy);
  return make_thread_probe(info_.id, thread_, policy, work_seconds);
}

// A thread has no driver, so its work is queued and the host sleeps until the work has ended.
std::unique_ptr<SyncProbe> ThreadDevice::launch_probe(double work_seconds) {
  return make_thread_probe(info_.id, thread_, sync::Policy::blocking, work_seconds);
}

std::unique_ptr<LitmusAgent> ThreadDevice::litmus_agent() { return make_worker_litmus_agent(info_.id, thread_); }

}  // namespace tandem
