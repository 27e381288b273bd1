// What is destroyed while the device may still use it, seen at the edge of the driver.
//
// A test program that links lifetime_api.cpp defines some of Vulkan's functions itself; they pass every call on to the
// driver and write down what was submitted, what the host was told of its end, and what was destroyed. A semaphore
// counts as in use until the host was told its last value: Vulkan would be content with the fence of the same
// submission, but lavapipe's queue thread signals that fence before it is done with the semaphore.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tandem::testing {

// One sentence for each thing that was destroyed too early, or submitted after its end; empties the list.
std::vector<std::string> take_early_ends();

size_t submissions();  // so far

// While it lives, no host call learns of a submission's end: looks say "not yet", and waits wait for this object's
// end, or for as long as they may.
class HeldEnds {
 public:
  HeldEnds();
  ~HeldEnds();
  HeldEnds(const HeldEnds&) = delete;
  HeldEnds& operator=(const HeldEnds&) = delete;
};

}  // namespace tandem::testing
