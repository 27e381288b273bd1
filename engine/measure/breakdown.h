// Splits the time of recorded passes: on each device by kind of operator, waits for other devices, and the rest.
//
// Contract: pure, from a timeline's measured spans (engine/run/pass/timeline_pass.h). Modelled spans do not count.
// Times are wall clock. The rest of a device (idle or launching) is the sum of the gaps between its spans, not a
// difference. So the lines of a device add up to the wall clock only if its spans neither overlap nor leave their pass.
// complaints() names the devices for which this fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/run/pass/timeline.h"

namespace tandem {

struct BreakdownLine {
  std::string device, what;  // what: a kind of operator, kWaits or kIdle
  int64_t launches = 0;
  double seconds = 0, bytes = 0, flops = 0;
};

struct Breakdown {
  static constexpr const char* kWaits = "waits for others";
  static constexpr const char* kIdle = "idle / launching";

  double wall_seconds = 0;  // of all passes
  int64_t passes = 0;
  std::vector<BreakdownLine> lines;  // device by device: kinds by falling time, then waits, then idle
  bool alone = false;                // some operator was launched by itself that is otherwise part of a larger launch

  double sum_of(const std::string& device) const;  // seconds of its lines
  // One text for each device whose lines miss the wall clock by more than `tolerance` of it: its name and the gap.
  std::vector<std::string> complaints(double tolerance = 0.03) const;
};

Breakdown break_down(const Timeline& timeline);

}  // namespace tandem
