// The waits of a device's thread for the flags of a step, and the error of a device that took too long.
//
// Every device with a thread of its own waits in this way.
//
// Contract: that thread calls wait(), any thread calls close(). wait() throws Error when a flag fails or its
// deadline passes; the error names step, flag and device. It also throws Error after close(), whichever flag the
// thread sleeps on.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sync/duration_predictor.h"
#include "sync/error.h"
#include "sync/flag.h"
#include "sync/waiter.h"

namespace tandem {

class StepWaits {
 public:
  // shares_core: as in WaitContext.
  StepWaits(const std::string& device, sync::Policy policy, std::chrono::milliseconds deadline,
            bool shares_core = false);
  // predictor: the one for this step's waits.
  void wait(std::string_view step, std::span<const sync::WaitFor> waits, uint32_t base,
            sync::DurationPredictor& predictor);
  // Ends all later waits and the current one. The current wait ends with its predicted sleep, or a few milliseconds
  // after it last spun.
  void close() { closed_ = true; }

 private:
  const std::string device_, raiser_;
  const std::chrono::milliseconds deadline_;
  const bool shares_core_;
  const std::unique_ptr<sync::Waiter> waiter_;
  std::atomic<bool> closed_ = false;
};

// The error of finish(). object: the device and what ran on it.
Error did_not_finish(std::chrono::milliseconds deadline, const std::string& object);

}  // namespace tandem
