// Measures what handing a cache line to and fro takes between the waiter's core and one that a device works on, before
// and after the row that is judged by it.
//
// Contract: a reading takes some milliseconds and pins the calling thread meanwhile. A reading that got no quiet moment
// leaves no limit but a reason. Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/lab/results.h"

namespace tandem::sync_lab {

// The waiter's core and another one of the device's; empty where no line changes hands. Pure.
std::vector<int> line_cores(int waiter_core, const std::vector<int>& device_cores);
// Of two readings: round trips in seconds. Pure; neither may be empty.
CacheLine line_of(std::vector<int> cores, const std::vector<double>& before, const std::vector<double>& after);

class LineMeter {
 public:
  explicit LineMeter(std::vector<int> cores) : cores_(std::move(cores)) {}
  void read_before() { before_ = read(); }
  void read_after() { after_ = read(); }
  void into(DeviceResult& result) const;

 private:
  std::vector<double> read() const;  // empty: none
  std::vector<int> cores_;
  std::vector<double> before_, after_;
};

}  // namespace tandem::sync_lab
