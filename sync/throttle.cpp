#include "sync/throttle.h"

#include <thread>

namespace tandem::sync {
namespace {

// The kernel may wake a thread so much later than asked.
constexpr double kWakeSeconds = 80e-6;

}  // namespace

// A sleep ends too late by some microseconds, so the last of the time is waited for awake.
void wait_until(double seconds) {
  const double sleeps = seconds - now_seconds() - kWakeSeconds;
  if (sleeps > 0) std::this_thread::sleep_for(std::chrono::duration<double>(sleeps));
  while (now_seconds() < seconds) std::this_thread::yield();
}

}  // namespace tandem::sync
