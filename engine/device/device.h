// The interface of every processor that runs programs: a GPU through OpenCL or Vulkan, the emulated NPU, the host.
//
// Contract
//   Phases: prepare() and make_sequence() resolve shapes, compile and bind arguments. They may take seconds and must
//   not be called between a run's launches. launch() never blocks: it queues a sequence of programs behind all earlier
//   launches, since devices are in-order. Each program starts when every WaitFor is satisfied. It raises its Signal
//   when all its results are visible to every other device.
//   Repetition: a sequence may be launched again and again, also while it still runs. Values that change between
//   launches (positions, ids) are read from memory, and epochs count from the launch's base. A program may wait for
//   flags that the same device raises earlier in its queue, at no cost.
//   Threads: one thread, the orchestrator's, calls prepare(), make_sequence() and launch(). Any thread may call
//   estimate(), supports() and info().
//   Failure: prepare() throws tandem::Error. A failure after launch() is stored on the step's signal flag (Flag::fail)
//   and on the device (finish() throws it). Later launches of the run are skipped, and their flags fail too.
//   Ownership: programs and device objects are released before the pool whose slots they import.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "engine/device/device_info.h"
#include "engine/device/operator.h"
#include "sync/flag.h"

namespace tandem {

class DeviceLab;
class PrivateSlots;

struct Cost {  // on the model clock: computed, never measured
  double seconds = 0, joules = 0, bytes = 0, flops = 0;
};

class Program {
 public:
  virtual ~Program() = default;
  // Modelled seconds that the chip took to compile the program; 0: not modelled, the compile time is on the wall clock.
  virtual double compile_seconds() const { return 0; }
};

struct PlannedLaunch {
  Program* program = nullptr;
  std::vector<sync::WaitFor> waits;
  sync::Signal signal;
};

// The launch with the base of a launch added to its planned epochs.
PlannedLaunch counted_from(uint32_t base, PlannedLaunch planned);

// Launches that go to a device together, in this order. Never changes. Borrows the programs and the flags. Its owner
// shares it with the launches that have not ended.
class LaunchSequence {
 public:
  // Data that a device has built from the launches, for sequences that are launched again and again.
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

using KeptSlots = std::set<const sync::Slot*>;

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual Support supports(const Operator& op) const = 0;
  virtual std::unique_ptr<Program> prepare(std::span<const Operator> operators) = 0;
  // The same for programs of a plan in which nobody but this device touches the slots `kept`. A device with memory of
  // its own then copies them neither in nor out.
  virtual std::unique_ptr<Program> prepare_keeping(std::span<const Operator> operators, const KeptSlots& kept) {
    static_cast<void>(kept);
    return prepare(operators);
  }
  // Takes programs that this device prepared, or another device on the same thread (DeviceInfo::thread_of).
  virtual void launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) = 0;
  virtual Cost estimate(std::span<const Operator> operators) const = 0;
  // Blocks until all launches have ended; throws the first stored failure and clears it.
  virtual void finish(std::chrono::milliseconds deadline) = 0;
  // The device_local slots in the device's own memory (engine/device/private_slots.h). nullptr: they lie in the pool's.
  virtual PrivateSlots* private_slots() { return nullptr; }

 private:
  friend DeviceLab& lab_of(Device& device);
  virtual DeviceLab& lab() = 0;
  friend std::shared_ptr<const LaunchSequence> make_sequence(Device& device, std::vector<PlannedLaunch> launches);
  // Builds the data that the device wants ready whenever these launches start; nullptr: none.
  virtual std::unique_ptr<const LaunchSequence::Built> build(std::span<const PlannedLaunch>) { return nullptr; }
};

// The part of a device that only measurements and tests need: engine/device/lab/lab.h.
inline DeviceLab& lab_of(Device& device) { return device.lab(); }

// For launches that are repeated: the device may build something for them once.
std::shared_ptr<const LaunchSequence> make_sequence(Device& device, std::vector<PlannedLaunch> launches);

// Launches one program once. The epochs are absolute: the launch's base is 0.
void launch_one(Device& device, Program& program, std::span<const sync::WaitFor> waits = {}, sync::Signal signal = {});

}  // namespace tandem
