#include "sync/affinity.h"

#include <pthread.h>

#include <cerrno>

namespace tandem {
namespace {

// A core beyond CPU_SETSIZE has no bit in a mask.
bool can_exist(int core) { return core >= 0 && core < CPU_SETSIZE; }

// Cores that a mask cannot name are left out. The system refuses a mask without any core.
cpu_set_t mask_of(std::span<const int> cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int core : cores)
    if (can_exist(core)) CPU_SET(static_cast<size_t>(core), &mask);
  return mask;
}

}  // namespace

std::vector<int> cores_of_this_thread() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return {};
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<size_t>(core), &mask)) cores.push_back(core);
  return cores;
}

// If the system does not say the cores of the thread, the list is core 0 alone.
const std::vector<int>& usable_cores() {
  static const std::vector<int> cores = [] {
    const std::vector<int> found = cores_of_this_thread();
    return found.empty() ? std::vector{0} : found;
  }();
  return cores;
}

int pin_this_thread(std::span<const int> cores) {
  if (cores.empty()) return 0;
  const cpu_set_t mask = mask_of(cores);
  return sched_setaffinity(0, sizeof mask, &mask) == 0 ? 0 : errno;
}

// The call gives its error number as a result and leaves errno alone, unlike the one for the own thread.
int pin_thread(std::thread& thread, std::span<const int> cores) {
  if (cores.empty()) return 0;
  const cpu_set_t mask = mask_of(cores);
  return pthread_setaffinity_np(thread.native_handle(), sizeof mask, &mask);
}

// Does nothing when the former cores cannot be read, since they could not be restored.
OnCores::OnCores(std::span<const int> cores) {
  CPU_ZERO(&before_);
  if (cores.empty() || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  pinned_ = pin_this_thread(cores) == 0;
}

// A failure has no remedy here: the thread then stays on the narrower list.
OnCores::~OnCores() {
  if (pinned_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace tandem
