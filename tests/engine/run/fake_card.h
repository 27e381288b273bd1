// A made-up graphics card that is reached by two interfaces, "fakecl:0" and "fakevk:0": a discrete GPU with memory of
// its own that computes with the host's loops, and says of itself that its sums are others. Whatever this is linked
// into has the interfaces among its devices while a test says so.
#pragma once

#include <string>

#include "engine/device/known_gpu.h"

namespace tandem::test {

struct FakeInterface {
  bool present = false;
  KnownGpu known;
  std::string refuses;  // a kind of operator: "swiglu"
  int opened = 0;       // how often
  int copies = 0;       // how often as a device that shares no memory
};

FakeInterface& fake_cl();
FakeInterface& fake_vk();

// Both interfaces of one card, alike but for their ids; gone when it goes.
class FakeCard {
 public:
  FakeCard();
  ~FakeCard();
  FakeCard(const FakeCard&) = delete;
  FakeCard& operator=(const FakeCard&) = delete;
};

}  // namespace tandem::test
