// The kernels that wait for and raise flags inside the queue (kernels/gate.cl), and the state line they share.
//
// Contract: every gate's spin ends: after the flag, after a failure, after cancel(), or after the bound. Threads: one,
// but cancel() and poisoned() from any. The state line lies in memory of the device object itself, in place (only used
// where sharing is proven).
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
  // c11_atomics: false leaves them out where the compiler has them (tests).
  Gates(ProgramCache& programs, SlotMemory& memory, sync::Pool& pool, bool c11_atomics = true);

  // Measures how long one look at a flag takes, with a gate that must time out. Error when it does not.
  void calibrate(const cl::CommandQueue& queue);
  void set_bound(std::chrono::milliseconds bound) { bound_ = bound; }

  void enqueue_wait(const cl::CommandQueue& queue, const sync::WaitFor& wait);
  void enqueue_signal(const cl::CommandQueue& queue, const sync::Signal& signal);

  uint32_t remember(const sync::WaitFor& wait);  // a serial number, by which failure() finds its flag's name again
  // What failure() will say of the list launched with this serial number, and base, when one of its waits fails.
  void remember(uint32_t serial, std::shared_ptr<const ProgramList> list, uint32_t base);
  cl_ulong spins() const;  // looks at a flag within the bound
  const sync::Slot& state() const { return state_; }
  const std::string& build_options() const { return options_; }

  bool poisoned() const;        // a gate has failed since the last reset()
  std::string failure() const;  // which one and why; "" when none
  void reset();                 // while the queue is idle
  void cancel();                // running and queued gates end at once, as failures
  double look_seconds() const { return look_seconds_; }
  const std::string& orders() const { return orders_; }  // which atomics the kernels were built with

 private:
  struct Gate {
    const std::string* flag = nullptr;  // its bank outlives the wait
    uint32_t epoch = 0;
  };
  struct Listed {
    uint32_t serial = 0, base = 0;
    std::shared_ptr<const ProgramList> list;
  };
  // Gates and lists in flight whose waits are known by name in an error message.
  static constexpr size_t kRemembered = 4096, kRememberedLists = 16;
  Gate failed_gate() const;

  SlotMemory& memory_;
  sync::Slot& state_;
  cl::Buffer state_buffer_;
  cl::Kernel gate_, signal_;
  std::string id_, orders_, options_;
  std::chrono::milliseconds bound_{10000};  // while the device is tested; then as DeviceOptions::wait_deadline
  double look_seconds_ = 5e-9;
  uint32_t serial_ = 0;
  std::array<Gate, kRemembered> gates_;         // ring by serial
  std::array<Listed, kRememberedLists> lists_;  // ring by serial
};

}  // namespace tandem::opencl
