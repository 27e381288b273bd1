// The first failure of a device's thread, kept until somebody takes it: what follows from it says less.
//
// Contract: any thread may call any of these. Asking whether there is one takes no lock, so that it may be done before
// every step.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

namespace tandem::sync {

class FirstFailure {
 public:
  bool any() const { return any_; }
  std::string message() const {  // "": there is none
    if (!any_) return "";
    std::lock_guard lock(mutex_);
    return message_;
  }
  // Keeps it, unless it is empty or there is one already.
  void keep(const std::string& message) {
    if (message.empty()) return;
    std::lock_guard lock(mutex_);
    if (message_.empty()) message_ = message;
    any_ = true;
  }
  std::string take() {  // and forgets it; "": there was none
    std::lock_guard lock(mutex_);
    any_ = false;
    return std::exchange(message_, "");
  }

 private:
  mutable std::mutex mutex_;
  std::string message_;
  std::atomic<bool> any_ = false;
};

}  // namespace tandem::sync
