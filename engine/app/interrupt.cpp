#include "engine/app/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "engine/app/command.h"
#include "sync/long_wait.h"

namespace tandem::app {

namespace {

// A signal handler may write only this type. Other code only reads it.
volatile sig_atomic_t asked_to_stop = 0;

// The first signal only sets the flag, which work looks at between its steps. The second one ends the process, because
// a step may take long. A handler may call _exit(), but not exit(). A terminal that closes may send SIGHUP twice, from
// the kernel and from the shell, so the second one of them counts for nothing.
extern "C" void on_signal(int signal) {
  if (asked_to_stop && signal != SIGHUP) _exit(kInterrupted);
  asked_to_stop = signal;
}

bool is_ignored(int signal) {
  struct sigaction now = {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

void watch_for_interrupt() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // Interrupted system calls of drivers and libraries continue, since these may not expect EINTR.
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  if (!is_ignored(SIGHUP)) sigaction(SIGHUP, &action, nullptr);  // nohup ignores it
  signal(SIGXFSZ, SIG_IGN);  // writing beyond `ulimit -f` then is an error of the call
  stop_waits_when(interrupted);
}

bool interrupted() { return asked_to_stop != 0; }

bool forget_interrupt() {
  if (asked_to_stop != SIGINT) return false;
  asked_to_stop = 0;
  return true;
}

}  // namespace tandem::app
