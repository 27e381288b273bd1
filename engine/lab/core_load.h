// Load that a measurement puts on chosen cores: a neighbour that computes and counts how far it gets, threads that only
// spin, and the place of the measuring thread itself.
//
// Contract: threads end with the object that started them, at the latest some microseconds after. Where the system
// refuses to pin, threads run where it puts them. Threads: each object belongs to one thread.
#pragma once

#include <sched.h>

#include <thread>
#include <vector>

namespace tandem::sync_lab {

// Pins the calling thread until the end of the scope, and then gives it back the cores it had.
class OnCore {
 public:
  explicit OnCore(int core);
  ~OnCore();
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  cpu_set_t before_;
};

// A thread that computes on one core.
class Neighbour {
 public:
  explicit Neighbour(int core);  // returns when it computes
  // Ends it. Rounds of its loop a second of wall time.
  double stop();

 private:
  double rounds_ = 0, seconds_ = 0;
  std::jthread thread_;
};

// One thread on each of the cores that does nothing but hold it.
class Spinners {
 public:
  explicit Spinners(const std::vector<int>& cores);

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace tandem::sync_lab
