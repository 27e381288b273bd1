#include "sync/file_lock.h"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "sync/long_wait.h"

namespace tandem {

// Looks again with growing pauses instead of waiting in the kernel, so that a long wait can be announced.
bool lock_file(int file, int operation, const std::string& holder) {
  LongWait wait(holder);
  std::chrono::milliseconds pause{1};  // most locks are held for less
  while (flock(file, operation | LOCK_NB) != 0) {
    // A signal may have come between, so an interrupted look counts as a lock that is still held.
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    wait.look();
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLookEvery);
  }
  return true;
}

}  // namespace tandem
