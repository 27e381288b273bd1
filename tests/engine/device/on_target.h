// Tests that run on every target, with devices that all tests of a program share.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tests/engine/device/run_case.h"

namespace tandem::testing {

// A test on every target: opens it where no test before has, or skips with the reason it is missing (a failure where it
// is required). All tests of a program share the target's bench, so a kernel is loaded once for all of them.
class OnTarget : public ::testing::TestWithParam<Target> {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The slots of both are released behind the test, or by forget().
  CaseMemory& new_memory() { return memories_.emplace_back(bench_.pool); }
  sync::Slot& acquire(size_t bytes, sync::SlotUse use, const std::string& label) {
    return *slots_.emplace_back(&bench_.pool.acquire(bytes, use, label));
  }
  // Nobody looks at what was built before any more. Every slot is an import of the driver's, and some take no more than
  // 4,096 of them (SwiftShader).
  void forget();

 private:
  struct Shared {
    Bench bench;
    bool has_failed = false;  // it may hang or be damaged: the next test gets another one
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
