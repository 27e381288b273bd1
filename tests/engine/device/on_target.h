// Tests that run on every target, with devices that all tests of a program share.
#pragma once

#include <deque>

#include "tests/engine/device/run_case.h"

namespace tandem::testing {

// The target's bench, which all tests of a program share: a kernel is loaded once for all of them. The device may not
// be open yet.
Bench& shared_bench(const Target& target);
// The next test begins with another one.
void close_shared_bench(const Target& target);

// A test on every target: opens it where no test before has, or skips with the reason it is missing (a failure where it
// is required).
class OnTarget : public ::testing::TestWithParam<Target> {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Its slots are released behind the test, or by forget().
  CaseMemory& new_memory() { return memories_.emplace_back(bench_.pool); }
  // Nobody looks at what was built before any more. Every slot is an import of the driver's, and some take no more than
  // 4,096 of them (SwiftShader).
  void forget();

  Bench& bench_ = shared_bench(GetParam());

 private:
  std::deque<CaseMemory> memories_;
};

}  // namespace tandem::testing
