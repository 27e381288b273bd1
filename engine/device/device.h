// What every processor looks like to whoever runs programs on it: a GPU through OpenCL or Vulkan, the emulated NPU, the
// host.
//
// Contract
//   Two phases. prepare() and make_sequence() resolve shapes, compile, bind arguments; they may take seconds and must
//   not be called between a run's launches. launch() never blocks: it queues a sequence of programs behind what was
//   launched before (devices are in-order); each starts when every WaitFor is satisfied and raises its Signal when all
//   its results are visible to every other device. A sequence may be launched again and again, also while it still
//   runs; what changes between launches (positions, ids) is read from memory, and epochs count from the launch's base.
//   Waits for flags that this same device raises earlier in its queue are allowed and cost nothing.
//   Threads: prepare(), make_sequence() and launch() are called from one thread, the orchestrator's; estimate(),
//   supports(), info() from any.
//   Failure: prepare() throws tandem::Error. A failure after launch() is stored on the step's signal flag (Flag::fail)
//   and on the device (finish() throws it); later launches of the run are skipped, their flags fail too.
//   Ownership: programs and device objects are released before the pool whose slots they import.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/device/device_info.h"
#include "engine/device/operator.h"
#include "sync/flag.h"

namespace tandem {

class DeviceLab;

struct Cost {  // on the model clock: computed, never measured
  double seconds = 0, joules = 0, bytes = 0, flops = 0;
};

class Program {
 public:
  virtual ~Program() = default;
  // Modelled seconds that compiling it took on the chip; 0: nothing is modelled, what it took is on the wall clock.
  virtual double compile_seconds() const { return 0; }
};

struct PlannedLaunch {
  Program* program = nullptr;
  std::vector<sync::WaitFor> waits;
  sync::Signal signal;
};

// Its epochs are the planned ones, counted from a launch's base.
PlannedLaunch counted_from(uint32_t base, PlannedLaunch planned);

// Launches that go to a device together, in this order. Never changes. Borrows the programs and the flags. Shared by
// its owner and by launches that have not ended.
class LaunchSequence {
 public:
  // What a device has built of the launches, for sequences that are launched again and again.
  struct Built {
    virtual ~Built() = default;
  };

  explicit LaunchSequence(std::vector<PlannedLaunch> launches, std::unique_ptr<const Built> built = nullptr)
      : launches_(std::move(launches)), built_(std::move(built)) {}
  std::span<const PlannedLaunch> launches() const { return launches_; }
  const Built* built() const { return built_.get(); }

 private:
  const std::vector<PlannedLaunch> launches_;
  const std::unique_ptr<const Built> built_;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual Support supports(const Operator& op) const = 0;
  virtual std::unique_ptr<Program> prepare(std::span<const Operator> operators) = 0;
  // Programs that this device prepared; also such of another device on the same thread (DeviceInfo::thread_of).
  virtual void launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) = 0;
  virtual Cost estimate(std::span<const Operator> operators) const = 0;
  // Blocks until everything launched has ended; throws the first stored failure and clears it.
  virtual void finish(std::chrono::milliseconds deadline) = 0;

 private:
  friend DeviceLab& lab_of(Device& device);
  virtual DeviceLab& lab() = 0;
  friend std::shared_ptr<const LaunchSequence> make_sequence(Device& device, std::vector<PlannedLaunch> launches);
  // What the device wants to have ready whenever these are launched; nullptr: nothing.
  virtual std::unique_ptr<const LaunchSequence::Built> build(std::span<const PlannedLaunch>) { return nullptr; }
};

// What only measuring and testing need of it: engine/device/lab/lab.h.
inline DeviceLab& lab_of(Device& device) { return device.lab(); }

// For launches that are repeated: the device may build something of them, once.
std::shared_ptr<const LaunchSequence> make_sequence(Device& device, std::vector<PlannedLaunch> launches);

// One program, once; its epochs are what they are.
void launch_one(Device& device, Program& program, std::span<const sync::WaitFor> waits = {}, sync::Signal signal = {});

}  // namespace tandem
