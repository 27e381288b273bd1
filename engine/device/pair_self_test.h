// The self-test of two devices before a plan runs on both: each sees the other's writes once the other's flag is up.
//
// Contract: a value goes from the first device to the second through host memory and a flag, and then the other way.
// Programs are queued on both devices before any runs; the host looks only at the end. Each direction has a time bound.
// No other work runs on the devices meanwhile. The pool outlives both devices.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "sync/pool.h"

namespace tandem {

constexpr std::chrono::milliseconds kPairBound{10000};  // the first launch of a kernel may compile it

struct PairTest {
  std::string from, to;  // device ids
  bool passed = false;
  std::string reason;  // why it failed, or what was shown
};

// Tests both directions. Never throws for a failure: its message is the reason. Throws Interrupted when the user stops.
std::vector<PairTest> test_pair(Device& a, Device& b, sync::Pool& pool, std::chrono::milliseconds bound = kPairBound);

}  // namespace tandem
