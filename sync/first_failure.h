// The first failure of a device's thread, kept until a caller takes it. Later failures are its consequences and
// say less.
//
// Contract: any thread may call any of these. any() takes no lock, so a thread may ask it before every step.
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
  // Keeps the message, unless it is empty or a message is already kept.
  void keep(const std::string& message) {
    if (message.empty()) return;
    std::lock_guard lock(mutex_);
    if (message_.empty()) message_ = message;
    any_ = true;
  }
  std::string take() {  // returns the message and clears it; "": there was none
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
