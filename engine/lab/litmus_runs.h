// Runs litmus tests between two sides and counts their outcomes, and measures reads across a bus by the same agents.
//
// Threads: one. Ownership: agents are borrowed for the call.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/lab/litmus.h"

namespace tandem {

const char* name_of(LitmusTest test);
const std::vector<LitmusTest>& litmus_tests();  // all but the broken ones

struct LitmusOutcome {
  std::string what;
  uint64_t count = 0;
  bool forbidden = false;
};

struct LitmusCounts {
  uint64_t launches = 0, instances = 0, together = 0, forbidden = 0;
  std::vector<LitmusOutcome> outcomes;  // every possible outcome of the test, even with count 0
};

struct LitmusLimits {
  uint64_t launches = 100000;
  std::chrono::milliseconds time{30000};  // both sides may share a core, or other processes may hold their cores
};

// Launches until both sides were together at `iterations` instances, or until a limit is reached; counts.together gives
// the number reached. a and b are different agents. Error when an agent fails or does not end.
LitmusCounts run_litmus(LitmusAgent& a, LitmusAgent& b, LitmusTest test, uint64_t iterations, LitmusLimits limits = {});

std::string to_string(const LitmusCounts& counts);  // one line

// Seconds of one read of the host's memory by the device, up to `rounds` values. A kernel reads a chain of lines, each
// of which names the next one, so every read waits for the one before it. A value is the difference between a launch
// with a long chain and one with a short chain, divided by the difference in reads. Behind a bus, this is a round trip
// across it. Ends after `time`, with at least one value. Error when a kernel fails or reads other bytes.
std::vector<double> dependent_read_seconds(LitmusAgent& device, int rounds,
                                           std::chrono::milliseconds time = std::chrono::milliseconds(500));

}  // namespace tandem
