// Gates: kernels that wait for flags and raise them inside a command queue (kernels/gate.cl), and the state line that
// they share.
//
// Contract: a gate spins until its flag is raised, a failure occurs, cancel() is called, or its bound passes. The state
// line lies in a slot of the device object's pool. Kernels use it in place, so gates need memory that is proven to be
// shared. Threads: one; cancel() and poisoned() may be called by any.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "engine/device/opencl/memory.h"
#include "engine/device/opencl/program_cache.h"
#include "engine/device/opencl/program_list.h"
#include "sync/flag.h"
#include "sync/pool.h"

namespace tandem::opencl {

class Gates {
 public:
  // c11_atomics: false builds the kernels without C11 atomics, even with a compiler that supports them (tests).
  Gates(ProgramCache& programs, SlotMemory& memory, sync::Pool& pool, bool c11_atomics = true);

  // Measures how long one look at a flag takes, by a gate that must time out. Error when it does not.
  void calibrate(const cl::CommandQueue& queue);
  void set_bound(std::chrono::milliseconds bound) { bound_ = bound; }

  void enqueue_wait(const cl::CommandQueue& queue, const sync::WaitFor& wait);
  void enqueue_signal(const cl::CommandQueue& queue, const sync::Signal& signal);

  uint32_t remember(const sync::WaitFor& wait);  // serial number by which failure() finds the flag's name
  // Remembers a list that is launched with this serial number and base, so that failure() can name a wait of it
  // that failed.
  void remember(uint32_t serial, std::shared_ptr<const ProgramList> list, uint32_t base);
  cl_ulong spins() const;  // number of looks at a flag that fit the bound
  const sync::Slot& state() const { return state_; }
  const std::string& build_options() const { return options_; }

  bool poisoned() const;        // a gate has failed since the last reset()
  std::string failure() const;  // flag and reason of the failed gate; "": none has failed
  void reset();                 // forgets the failure; call it while the queue is idle
  void cancel();                // ends running and queued gates at once, with a failure
  double look_seconds() const { return look_seconds_; }
  const std::string& orders() const { return orders_; }  // the atomics with which the kernels were built

 private:
  struct Gate {
    const std::string* flag = nullptr;  // its bank outlives the wait
    uint32_t epoch = 0;
  };
  struct Listed {
    uint32_t serial = 0, base = 0;
    std::shared_ptr<const ProgramList> list;
  };
  // How many gates and lists are remembered for error messages. Older ones are forgotten.
  static constexpr size_t kRemembered = 4096, kRememberedLists = 16;
  Gate failed_gate() const;

  SlotMemory& memory_;
  sync::Slot& state_;
  cl::Buffer state_buffer_;
  cl::Kernel gate_, signal_;
  std::string id_, orders_, options_;
  std::chrono::milliseconds bound_{10000};  // during the device's tests; later DeviceOptions::wait_deadline
  double look_seconds_ = 5e-9;
  uint32_t serial_ = 0;
  std::array<Gate, kRemembered> gates_;         // ring by serial
  std::array<Listed, kRememberedLists> lists_;  // ring by serial
};

}  // namespace tandem::opencl
