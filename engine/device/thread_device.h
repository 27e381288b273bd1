// A device that works on a thread of this process: it consists of a description, a thread with a queue and a processor.
// The emulated NPU, the host and the toy devices of tests are such devices.
//
// Contract: as engine/device/device.h. The queue, flags, waits, failures, skipping, spans, probes and litmus tests are
// here; a processor only computes. Another device may work in turn on the same thread, and this one outlives it.
// Programs of both may then be launched in one sequence, in their order. A program that has not started when its device
// is closed fails its flag.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/device_factory.h"
#include "engine/device/lab/lab.h"
#include "engine/device/step_waits.h"
#include "sync/first_failure.h"
#include "sync/worker.h"

namespace tandem {

// A program's operators as the processor prepared them.
class ThreadWork {
 public:
  virtual ~ThreadWork() = default;
  // Runs the whole program once, on the device's thread. A pass may run several programs of a device. ended: called
  // after each operator, in their order; empty: no caller needs it.
  virtual void run(const std::function<void()>& ended) = 0;
  virtual double compile_seconds() const { return 0; }  // as Program::compile_seconds()
};

class Processor {
 public:
  virtual ~Processor() = default;
  virtual Support supports(const Operator& op) const = 0;
  virtual Cost estimate(std::span<const Operator> operators) const = 0;
  // operators: only those that the processor supports.
  virtual std::unique_ptr<ThreadWork> prepare(std::span<const Operator> operators) = 0;
};

// Work that calls `run` for one operator after the other, on the device's thread. Error when an operand lies outside
// its slot.
std::unique_ptr<ThreadWork> one_by_one(std::span<const Operator> operators, std::function<void(const Operator&)> run);

class ThreadDevice final : public Device, private DeviceLab {
 public:
  // Works on its own thread, tied to these cores; empty: the thread runs anywhere.
  ThreadDevice(DeviceInfo info, std::unique_ptr<Processor> processor, const DeviceOptions& options,
               const std::vector<int>& thread_cores);
  // Works on the thread of another device.
  ThreadDevice(DeviceInfo info, std::unique_ptr<Processor> processor, const DeviceOptions& options,
               ThreadDevice& other);
  ~ThreadDevice() override;

  const DeviceInfo& info() const override { return info_; }
  Support supports(const Operator& op) const override { return processor_->supports(op); }
  std::unique_ptr<Program> prepare(std::span<const Operator> operators) override;
  void launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) override;
  Cost estimate(std::span<const Operator> operators) const override;
  void finish(std::chrono::milliseconds deadline) override;
  DeviceLab& lab() override { return *this; }

 private:
  class ThreadProgram;
  struct OfThisThread : LaunchSequence::Built {};  // marks a sequence whose programs were checked

  std::unique_ptr<const LaunchSequence::Built> build(std::span<const PlannedLaunch> launches) override;
  void require_own(std::span<const PlannedLaunch> launches) const;
  void require_support(const Operator& op) const;
  void describe(const DeviceOptions& options);
  void execute(ThreadProgram& program, const PlannedLaunch& planned, uint32_t base);
  void run(const ThreadProgram& program);

  void record_spans(bool on) override { recording_ = on; }
  std::vector<DeviceSpan> take_spans() override;
  std::unique_ptr<SyncProbe> sync_probe(sync::Policy policy, double work_seconds) override;
  std::unique_ptr<SyncProbe> launch_probe(double work_seconds) override;
  std::unique_ptr<LitmusAgent> litmus_agent() override;

  DeviceInfo info_;
  const std::chrono::milliseconds deadline_;  // for the work that is still queued when the device is closed
  const std::unique_ptr<Processor> processor_;
  StepWaits waits_;
  sync::FirstFailure failure_;
  std::atomic<bool> recording_ = false;  // read before every step
  mutable std::mutex mutex_;             // protects spans_
  std::vector<DeviceSpan> spans_;
  std::unique_ptr<sync::Worker> own_thread_;  // last: it uses everything above, and ends first
  sync::Worker& thread_;
};

}  // namespace tandem
