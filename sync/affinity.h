// Which cores a thread may run on.
//
// Contract: an empty list changes nothing; cores beyond those that a mask can name are left out. Where the system
// refuses (no core of the list is there, or none may be used), the thread stays where it was, and the caller decides
// whether that is an error.
#pragma once

#include <sched.h>

#include <span>
#include <thread>
#include <vector>

namespace tandem {

std::vector<int> cores_of_this_thread();  // in rising order; empty where the system does not say

// What the process may use: the cores of the thread that asks first, and never none. An engine asks before it pins a
// thread, so that an engine opened later, or a child, does not take one thread's core for all there are.
const std::vector<int>& usable_cores();

// 0, or the error number of the system that refused.
int pin_this_thread(std::span<const int> cores);
int pin_thread(std::thread& thread, std::span<const int> cores);

// Keeps the calling thread, and so the threads that it starts meanwhile, on these cores until the end of the scope, and
// gives it back those it had.
class OnCores {
 public:
  explicit OnCores(std::span<const int> cores);
  ~OnCores();
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;

 private:
  cpu_set_t before_;
  bool pinned_ = false;
};

}  // namespace tandem
