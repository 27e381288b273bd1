#include "engine/lab/core_load.h"

#include <cstdint>
#include <semaphore>

#include "sync/affinity.h"
#include "sync/clock.h"

namespace tandem::sync_lab {
namespace {

// A few microseconds of a dependent chain that no compiler shortens.
uint32_t compute(uint32_t x) {
  for (int i = 0; i < 2000; ++i) {
    x = x * 747796405u + 2891336453u;
    x ^= x >> 15;
  }
  return x;
}

// The result must be used, or a compiler would leave the computation out.
void keep(uint32_t value) {
  volatile uint32_t sink = value;
  static_cast<void>(sink);
}

}  // namespace

// The constructor waits until the thread runs on its core. Only then does the thread begin to count.
Neighbour::Neighbour(int core) {
  std::binary_semaphore computes(0);
  thread_ = std::jthread([this, core, &computes](const std::stop_token& stop) {
    pin_this_thread({{core}});
    uint32_t x = compute(1);
    computes.release();
    const double begin = now_seconds();
    while (!stop.stop_requested()) {
      x = compute(x);
      ++rounds_;
    }
    seconds_ = now_seconds() - begin;
    keep(x);
  });
  computes.acquire();
}

// Rounds a second. The thread measured its own time, so the join does not count.
double Neighbour::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  return seconds_ > 0 ? rounds_ / seconds_ : 0;
}

// Returns when all threads spin, so a measurement has its full load from the first step on.
Spinners::Spinners(const std::vector<int>& cores) {
  std::counting_semaphore<> spinning(0);
  for (const int core : cores) {
    threads_.emplace_back([core, &spinning](const std::stop_token& stop) {
      pin_this_thread({{core}});
      spinning.release();
      while (!stop.stop_requested()) {
      }
    });
  }
  for (size_t i = 0; i < cores.size(); ++i) spinning.acquire();
}

}  // namespace tandem::sync_lab
