// What two devices must show before a plan runs on both: that one sees what the other has written once its flag is up.
//
// Contract: a value goes from the first device to the second, through host memory and a flag, and back the other way,
// with programs queued on both before any runs; the host only looks at the end. Bounded each way. Nothing
// else runs on the devices meanwhile. The pool outlives both devices.
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
  std::string reason;  // why not, or what was shown
};

// Both directions. Never throws: what went wrong is the reason.
std::vector<PairTest> test_pair(Device& a, Device& b, sync::Pool& pool, std::chrono::milliseconds bound = kPairBound);

}  // namespace tandem
