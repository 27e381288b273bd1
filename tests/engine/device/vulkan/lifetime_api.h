// Watches at the edge of the driver which objects are destroyed while the device may still use them.
//
// A test program that links lifetime_api.cpp defines some of Vulkan's functions itself. They pass every call on to the
// driver. They record submissions, the ends that the host has seen, and destroyed objects. A semaphore counts as in use
// until the host has seen its last value. For Vulkan the fence of the same submission is enough. But lavapipe's queue
// thread signals that fence before it has finished with the semaphore.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tandem::testing {

// One sentence for each object that was destroyed too early, or submitted after its end. Empties the list.
std::vector<std::string> take_early_ends();

size_t submissions();  // the number so far

// While an object lives, no host call sees the end of a submission. Queries return "not yet". Waits last until the
// object's end, or until their own timeout.
class HeldEnds {
 public:
  HeldEnds();
  ~HeldEnds();
  HeldEnds(const HeldEnds&) = delete;
  HeldEnds& operator=(const HeldEnds&) = delete;
};

}  // namespace tandem::testing
