// Tests that run on every target, with devices that all tests of a program share.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tests/engine/device/run_case.h"

namespace tandem::testing {

// A test on every target. It opens the target if no earlier test has. If the target is missing, it skips with the
// reason, or fails if the target is required. All tests of a program share the target's bench, so a kernel is loaded
// once for all of them.
class OnTarget : public ::testing::TestWithParam<Target> {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The slots of new_memory() and acquire() are released after the test, or by forget().
  CaseMemory& new_memory() { return memories_.emplace_back(bench_.pool); }
  sync::Slot& acquire(size_t bytes, sync::SlotUse use, const std::string& label) {
    return *slots_.emplace_back(&bench_.pool.acquire(bytes, use, label));
  }
  // Releases the slots of earlier cases, which the test no longer reads. Every slot is imported into the driver, and
  // some drivers take at most 4,096 imports (SwiftShader).
  void forget();

 private:
  struct Shared {
    Bench bench;
    bool has_failed = false;  // it may hang or be damaged, so the next test opens another one
  };
  static Shared& shared_bench();
  Shared& shared_ = shared_bench();

 protected:
  Bench& bench_ = shared_.bench;

 private:
  std::deque<CaseMemory> memories_;
  std::vector<sync::Slot*> slots_;
};

}  // namespace tandem::testing
