// What every processor looks like: a GPU through OpenCL, the emulated NPU, the host.
//
// Contract
//   Two phases. prepare() resolves shapes, compiles, binds arguments; it may take milliseconds and must not be called
//   between a run's launches. launch() never blocks: it queues the program behind what was launched before (devices are
//   in-order), to start when every WaitFor is satisfied and to raise Signal when all results are visible to every other
//   device. Programs may be launched again and again; what changes between launches (positions, ids) is read from
//   memory. Waits for flags that this same device raises earlier in its queue are allowed and cost nothing. Threads:
//   prepare() and launch() are called from one thread, the orchestrator's. estimate(), supports(), info() from any.
//   Failure: prepare() throws tandem::Error. A failure after launch() is stored on the step's signal flag (Flag::fail)
//   and on the device (finish() throws it); later launches of the run are skipped, their flags fail too. Ownership:
//   programs and device objects are released before the pool whose slots they import.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/device/device_info.h"
#include "engine/device/litmus.h"
#include "engine/device/operator.h"
#include "engine/device/sync_probe.h"
#include "sync/flag.h"

namespace tandem {

struct Cost {  // on the model clock: computed, never measured
  double seconds = 0, joules = 0, bytes = 0, flops = 0;
};

class Program {
 public:
  virtual ~Program() = default;
  // Modelled seconds that compiling it took on the chip; 0: nothing is modelled, what it took is on the wall clock.
  virtual double compile_seconds() const { return 0; }
};

// Work on the wall clock; devices that can measure append here (see take_spans). A device that can tell operators apart
// gives a span for each thing it launched of them, another one for the whole program.
struct DeviceSpan {
  const Program* program = nullptr;
  double start_seconds = 0, end_seconds = 0;  // steady clock
  int op = -1;                                // index of the operator in the program; -1: the whole program
  bool alone = false;  // launched by itself only because it was measured: otherwise it is a part of a larger launch
};

// One of a run's launches. Its epochs count from the run's base.
struct PlannedLaunch {
  Program* program = nullptr;
  std::vector<sync::WaitFor> waits;
  sync::Signal signal;
};

// All of a run's launches on one device, and what that device has built of them once for every run. Never changes.
// Borrows the programs and the flags; lives until the device has finished.
class LaunchSequence {
 public:
  explicit LaunchSequence(std::vector<PlannedLaunch> launches) : launches_(std::move(launches)) {}
  virtual ~LaunchSequence() = default;
  LaunchSequence(const LaunchSequence&) = delete;
  LaunchSequence& operator=(const LaunchSequence&) = delete;
  std::span<const PlannedLaunch> launches() const { return launches_; }

 private:
  const std::vector<PlannedLaunch> launches_;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual Support supports(const Operator& op) const = 0;
  virtual std::unique_ptr<Program> prepare(std::span<const Operator> operators) = 0;
  virtual void launch(Program& program, std::span<const sync::WaitFor> waits, sync::Signal signal) = 0;
  // Between batch(true) and batch(false) launches may be held back: queueing many steps then does not compete with
  // running them for a core.
  virtual void batch(bool open) = 0;
  // As batch(true), launch() of each with `base` added to its epochs, and batch(false); but a device may have built at
  // sequence() what a run then only hands over. Of programs that this device prepared.
  virtual std::unique_ptr<LaunchSequence> sequence(std::vector<PlannedLaunch> launches);
  virtual void launch_all(const LaunchSequence& sequence, uint32_t base);
  virtual Cost estimate(std::span<const Operator> operators) const = 0;

  // Blocks until everything launched has ended; throws the first stored failure and clears it.
  virtual void finish(std::chrono::milliseconds deadline) = 0;
  // Spans measured since the last call, in order of execution. Recording is off until record_spans(true).
  virtual void record_spans(bool on) = 0;
  virtual std::vector<DeviceSpan> take_spans() = 0;

  // A waiting policy by itself, with steps of about work_seconds, to measure what waiting costs. Nothing else may be
  // launched while it lives. Error with the reason when the policy is unknown or switched off here.
  virtual std::unique_ptr<SyncProbe> sync_probe(std::string_view policy, double work_seconds) = 0;

  // A side of memory-ordering litmus tests on this device. Nothing else may be launched while it lives. Error with the
  // reason when its memory is not the host's.
  virtual std::unique_ptr<LitmusAgent> litmus_agent();
};

// One of them by itself.
void launch_from(Device& device, const PlannedLaunch& planned, uint32_t base);

}  // namespace tandem
