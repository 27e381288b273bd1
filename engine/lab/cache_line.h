// Measures how long a cache line takes between the waiter's core and a core of the device, there and back. It measures
// before and after the row that is judged by this time.
//
// Contract: a reading takes some milliseconds and pins the calling thread meanwhile. If a reading finds no quiet
// moment, there is no limit, but a reason. Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/lab/results.h"

namespace tandem::sync_lab {

// The waiter's core and another core of the device; empty if there is no other core. Pure.
std::vector<int> line_cores(int waiter_core, const std::vector<int>& device_cores);
// Joins two readings, each of round trips in seconds. Pure; neither may be empty.
CacheLine line_of(std::vector<int> cores, const std::vector<double>& before, const std::vector<double>& after);

class LineMeter {
 public:
  explicit LineMeter(std::vector<int> cores) : cores_(std::move(cores)) {}
  void read_before() { before_ = read(); }
  void read_after() { after_ = read(); }
  void into(DeviceResult& result) const;

 private:
  std::vector<double> read() const;  // empty: no quiet moment was found
  std::vector<int> cores_;
  std::vector<double> before_, after_;
};

}  // namespace tandem::sync_lab
