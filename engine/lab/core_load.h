// Load that a measurement puts on chosen cores: a neighbour that computes and counts how far it gets, threads that only
// spin.
//
// Contract: threads end with the object that started them, at the latest some microseconds after. Where the system
// refuses to pin, threads run where it puts them. Threads: each object belongs to one thread.
#pragma once

#include <thread>
#include <vector>

namespace tandem::sync_lab {

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
