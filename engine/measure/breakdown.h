// Where the time of recorded passes went: on every device by kind of operator, waiting for other devices, and the rest.
//
// Contract: pure, from a timeline's measured spans (engine/run/timeline_pass.h); what is modelled does not count. Times
// are wall clock. The rest of a device, idle or launching, is the gaps between its spans, not a difference: so the
// lines of a device add up to the wall clock only where its spans neither overlap nor leave their pass, and
// complaints() says where they do not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/run/timeline.h"

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
  bool alone = false;                // some was launched by itself that otherwise is a part of a larger launch

  double sum_of(const std::string& device) const;  // seconds of its lines
  // Of each device whose lines miss the wall clock by more than `tolerance` of it: its name and the gap.
  std::vector<std::string> complaints(double tolerance = 0.03) const;
};

Breakdown break_down(const Timeline& timeline);

}  // namespace tandem
