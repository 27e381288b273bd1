// A fixture for fused launches (engine/device/gpu/fused.h): a list of operators as one program must leave the bytes
// that it leaves operator by operator, on every target with simt kernels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/engine/device/gpu/gpu_bench.h"

namespace tandem::testing {

class FusedBench : public GpuBench {
 protected:
  // Makes the operators and their memory; it must fill every call's memory alike.
  using Build = std::function<std::vector<Operator>(CaseMemory&)>;

  // Expects equal bytes in all slots, and so many launches of kernels. The host has the same bytes too, where the
  // driver's multiply-add is fused.
  void expect_fused(const Build& build, size_t launches);

 private:
  Snapshot on_the_host(const Build& build);
};

// The targets with simt kernels.
std::vector<Target> simt_targets();
inline std::string name_of_target(const ::testing::TestParamInfo<Target>& test) { return test.param.name; }

}  // namespace tandem::testing
