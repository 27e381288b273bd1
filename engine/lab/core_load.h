// Puts load on chosen cores for a measurement: a neighbour that computes and counts its rounds, and threads
// that only spin.
//
// Contract: threads end with the object that started them, at the latest some microseconds later. If the system refuses
// to pin them, they run on any core. Threads: each object belongs to one thread.
#pragma once

#include <thread>
#include <vector>

namespace tandem::sync_lab {

// A thread that computes on one core.
class Neighbour {
 public:
  explicit Neighbour(int core);  // returns once it computes
  // Ends the thread. Returns the rounds of its loop per second of wall time.
  double stop();

 private:
  double rounds_ = 0, seconds_ = 0;
  std::jthread thread_;
};

// Keeps each of the cores busy with a thread that only spins.
class Spinners {
 public:
  explicit Spinners(const std::vector<int>& cores);

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace tandem::sync_lab
