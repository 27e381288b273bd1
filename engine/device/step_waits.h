// How a device's thread waits for the flags of a step, the same way on every device that has such a thread, and what
// every device says when what it was given took too long.
//
// Contract: wait() is called on that thread, close() by any. Error when a flag fails or its deadline passes, naming
// step, flag and device, and when close() was called meanwhile: nobody has to know which flag the thread sleeps on.
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
  StepWaits(const std::string& device, sync::Policy policy, std::chrono::milliseconds deadline);
  // predictor: of this step's waits.
  void wait(std::string_view step, std::span<const sync::WaitFor> waits, uint32_t base,
            sync::DurationPredictor& predictor);
  // Ends all later waits, and the one that goes on: at the end of its predicted sleep, or a few milliseconds after it
  // last spun.
  void close() { closed_ = true; }

 private:
  const std::string device_, raiser_;
  const std::chrono::milliseconds deadline_;
  const std::unique_ptr<sync::Waiter> waiter_;
  std::atomic<bool> closed_ = false;
};

// object: the device and what ran on it.
Error did_not_finish(std::chrono::milliseconds deadline, const std::string& object);

}  // namespace tandem
