// Soft limits of the process, for tests of the limits that children inherit.
#pragma once

#include <sys/resource.h>

namespace tandem::proof {

// Sets a soft limit of this process, and restores it at the end of the scope.
class SoftLimit {
 public:
  SoftLimit(__rlimit_resource which, rlim_t value) : which_(which) {
    getrlimit(which, &before_);
    const rlimit now{value, before_.rlim_max};
    set_ = before_.rlim_max >= value && setrlimit(which, &now) == 0;
  }
  ~SoftLimit() { setrlimit(which_, &before_); }
  SoftLimit(const SoftLimit&) = delete;
  SoftLimit& operator=(const SoftLimit&) = delete;
  bool is_set() const { return set_; }

 private:
  __rlimit_resource which_;
  rlimit before_{};
  bool set_ = false;
};

}  // namespace tandem::proof
