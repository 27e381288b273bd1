#include "tests/engine/device/gpu/fused_bench.h"

#include <algorithm>

#include "engine/device/host/host_device.h"
#include "engine/device/lab/lab.h"

namespace tandem::testing {
namespace {

// The first difference, if there is one. The slots of both have the same order; one that is used again may be larger
// than the other. Slots with the label `left_out` are not compared.
::testing::AssertionResult equal(const CaseMemory& memory, const Snapshot& expected, const Snapshot& found,
                                 const std::string& left_out = "") {
  for (size_t slot = 0; slot < expected.size(); ++slot) {
    if (memory.slots()[slot]->label() == left_out) continue;
    for (size_t b = 0; b < std::min(expected[slot].size(), found[slot].size()); ++b)
      if (expected[slot][b] != found[slot][b])
        return ::testing::AssertionFailure() << "byte " << b << " of '" << memory.slots()[slot]->label() << "' differs";
  }
  return ::testing::AssertionSuccess();
}

}  // namespace

Snapshot FusedBench::on_the_host(const Build& build) {
  Bench host;
  host.device = make_host_device(HostArithmetic::contract, 2);
  CaseMemory memory(host.pool);
  host.run(build(memory));
  return snapshot(memory);
}

void FusedBench::expect_fused(const Build& build, size_t launches) {
  CaseMemory &together = new_memory(), &apart = new_memory();
  const std::vector<Operator> whole = build(together), parts = build(apart);
  const Snapshot before = snapshot(apart);
  size_t launches_apart = 0;
  for (const Operator& op : parts) {
    run(op);
    launches_apart += lab_of(*bench_.device).kernel_launches(*bench_.device->prepare({&op, 1}));
  }
  bench_.run(whole);
  const Snapshot one_by_one = snapshot(apart);
  EXPECT_NE(before, one_by_one) << "the operators wrote nothing";
  EXPECT_TRUE(equal(together, one_by_one, snapshot(together)));
  if (bench_.device->info().fused_fma) {
    // The host keeps an attention's splits in an order of its own.
    EXPECT_TRUE(equal(together, on_the_host(build), one_by_one, "scratch")) << "on the host";
  }
  const auto program = bench_.device->prepare(whole);
  EXPECT_EQ(lab_of(*bench_.device).kernel_launches(*program), launches);
  EXPECT_LT(launches, launches_apart);
  forget();
}

std::vector<Target> simt_targets() {
  std::vector<Target> simt;
  for (const Target& target : gpu_targets())
    if (target.family == "simt") simt.push_back(target);
  return simt;
}

}  // namespace tandem::testing
