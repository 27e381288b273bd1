// How programs get into the queue, and how flags are waited for and raised. There are three ways, and the device
// picks one at start.
//
// Contract: launch() never blocks and never throws; programs run in the order of the calls.
//   A failure goes to the signal's flag, makes later launches fail without running, and is thrown and cleared by the
//   next finish().
//   Threads: launch() and finish() from one thread.
#pragma once

#include <chrono>
#include <memory>
#include <span>

#include "engine/device/opencl/prepared.h"
#include "engine/device/opencl/spans.h"
#include "sync/flag.h"

namespace tandem::opencl {

class Launcher {
 public:
  virtual ~Launcher() = default;
  // The program is shared: its user may destroy it while it is still queued here.
  virtual void launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits, sync::Signal signal) = 0;
  virtual void batch(bool open) = 0;  // between true and false, commands need not be flushed one by one
  virtual void finish(std::chrono::milliseconds deadline) = 0;
  virtual uint64_t copied_bytes() const { return 0; }  // of all launches so far, besides weights
};

}  // namespace tandem::opencl
