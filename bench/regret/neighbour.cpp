#include "bench/regret/neighbour.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmath>

#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::bench {
namespace {

// All processes use one clock, so that they are busy at the same time.
[[noreturn]] void come_and_go(ComesAndGoes rhythm, pid_t parent) {
  // The system ends the process if its parent dies before it could.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const double period = rhythm.busy_seconds + rhythm.idle_seconds;
  volatile uint64_t work = 0;
  while (getppid() == parent) {
    if (std::fmod(now_seconds(), period) >= rhythm.busy_seconds) {
      const timespec pause{0, 1'000'000};
      nanosleep(&pause, nullptr);
    } else {
      for (int i = 0; i < 100'000; ++i) work = work + 1;
    }
  }
  _exit(0);
}

}  // namespace

// The process forks here, so it must not have threads yet. A child ends by itself if its parent dies.
Neighbour::Neighbour(int processes, ComesAndGoes rhythm) {
  const pid_t parent = getpid();
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child == 0) come_and_go(rhythm, parent);
    if (child < 0) throw Error("cannot start a process", "the busy neighbour");
    processes_.push_back(child);
  }
}

Neighbour::~Neighbour() {
  for (const pid_t process : processes_) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

}  // namespace tandem::bench
