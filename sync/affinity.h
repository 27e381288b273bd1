// The cores that a thread may run on.
//
// Contract: an empty list changes nothing. Cores beyond those that a mask can name are ignored. The system refuses a
// list when none of its cores exists or may be used. The thread then stays where it was, and the caller decides whether
// this is an error.
#pragma once

#include <sched.h>

#include <span>
#include <thread>
#include <vector>

namespace tandem {

std::vector<int> cores_of_this_thread();  // in rising order; empty when the system does not say

// The cores that the process may use: those of the thread that calls this first; never empty. An engine calls it
// before it pins a thread. An engine that opens later, or a child process, then does not mistake one thread's core for
// all cores.
const std::vector<int>& usable_cores();

// Both return 0, or the error number when the system refuses.
int pin_this_thread(std::span<const int> cores);
int pin_thread(std::thread& thread, std::span<const int> cores);

// Keeps the calling thread on these cores until the end of the scope, then gives it its former cores back. Threads that
// it starts meanwhile inherit these cores.
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
