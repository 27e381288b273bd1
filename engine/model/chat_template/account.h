// What a rendering has used: work and memory. It ends hostile templates within a second and 256 MB.
//
// Contract: Fault above a limit. Charges must not outlive their account. Threads: one.
#pragma once

#include <cstddef>

#include "engine/model/chat_template/fault.h"

namespace tandem::chat {

class Account {
 public:
  static constexpr size_t kMostWork = size_t{4} << 20;  // units: an evaluated node, or kBytesOfUnit copied
  static constexpr size_t kBytesOfUnit = 64;
  static constexpr size_t kMostBytes = size_t{96} << 20;  // of all values that are alive
  static constexpr size_t kMostText = size_t{32} << 20;   // bytes of one text

  Account() = default;
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  void work(size_t units) {
    work_ += units;
    if (work_ > kMostWork) fail_too_large("more work than a template may do");
  }
  // Before something of that size is made.
  void require_room(size_t bytes) const {
    if (bytes > kMostText || held_ + bytes > kMostBytes)
      fail_too_large("values that need more memory than a template may use");
  }
  void hold(size_t bytes) {
    require_room(bytes);
    held_ += bytes;
  }
  void release(size_t bytes) noexcept { held_ -= bytes; }

 private:
  size_t work_ = 0, held_ = 0;
};

// Memory of one value, held for as long as the value lives.
class Charge {
 public:
  Charge() = default;
  Charge(Account& account, size_t bytes) : account_(&account), bytes_(bytes) { account.hold(bytes); }
  Charge(Charge&& other) noexcept : account_(other.account_), bytes_(other.bytes_) { other.account_ = nullptr; }
  Charge& operator=(Charge&&) = delete;
  ~Charge() {
    if (account_ != nullptr) account_->release(bytes_);
  }

 private:
  Account* account_ = nullptr;  // null: belongs to no rendering
  size_t bytes_ = 0;
};

}  // namespace tandem::chat
