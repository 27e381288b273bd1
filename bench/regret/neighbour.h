// Simulates other programs that come and go: processes that compute on every core for a while, then sleep for a while.
//
// Contract: construct it before this process has threads, since it forks. The processes end with this object, and with
//   this process however that ends. Ownership: owns the processes.
#pragma once

#include <sys/types.h>

#include <vector>

namespace tandem::bench {

struct ComesAndGoes {
  double busy_seconds = 1, idle_seconds = 2;
};

class Neighbour {
 public:
  Neighbour(int processes, ComesAndGoes rhythm);
  ~Neighbour();
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  const std::vector<pid_t>& processes() const { return processes_; }

 private:
  std::vector<pid_t> processes_;
};

}  // namespace tandem::bench
