// Collects the validation layers' messages about this project's use of Vulkan.
//
// Contract: all calls are thread-safe. The owner keeps the object alive longer than the instance that reports to it.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tandem::vulkan {

class Messages {
 public:
  void add(std::string text) {
    std::lock_guard lock(mutex_);
    texts_.push_back(std::move(text));
  }
  std::vector<std::string> take() {
    std::lock_guard lock(mutex_);
    return std::exchange(texts_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

}  // namespace tandem::vulkan
