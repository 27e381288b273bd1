// A made-up graphics card with two interfaces, "fakecl:0" and "fakevk:0". It is a discrete GPU with memory of its own.
// It computes with the host's loops, or with a device that copies memory as cards do. Either way it has the contract's
// bits, as real cards have. Programs that link this file have the interfaces while a test enables them.
#pragma once

#include <string>

#include "engine/device/known_gpu.h"

namespace tandem::test {

struct FakeInterface {
  bool present = false;
  KnownGpu known;
  std::string refuses;  // a kind of operator: "swiglu"
  std::string runs_on;  // the device that computes, with the kernels of cards and without shared memory: "opencl:0"
  int64_t memory_bytes = 0;      // 0: the device that computes says it
  std::string fails;             // why it cannot be opened
  int opened = 0;                // the number of opens
  int copies = 0;                // the number of opens as a device without shared memory
  std::string prepares_nothing;  // why it prepares no program; empty: it does
};

FakeInterface& fake_cl();
FakeInterface& fake_vk();

// Makes both interfaces of one card present, with the same properties except their ids. The destructor removes them.
class FakeCard {
 public:
  FakeCard();
  ~FakeCard();
  FakeCard(const FakeCard&) = delete;
  FakeCard& operator=(const FakeCard&) = delete;
};

}  // namespace tandem::test
