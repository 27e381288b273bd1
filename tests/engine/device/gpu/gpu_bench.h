// A fixture for tests that run on every way to open an OpenCL or Vulkan device.
#pragma once

#include <string_view>
#include <vector>

#include "tests/engine/device/on_target.h"

namespace tandem::testing {

inline std::vector<Target> gpu_targets() {
  std::vector<Target> gpus;
  for (const Target& target : targets()) {
    const std::string_view id = target.id;
    if (id.starts_with("opencl") || id.starts_with("vulkan")) gpus.push_back(target);
  }
  return gpus;
}

class GpuBench : public OnTarget {
 protected:
  Operand take(size_t bytes, const char* label, sync::SlotUse use = sync::SlotUse::activations) {
    return {&acquire(bytes, use, label), 0};
  }
  void run(const Operator& op) { bench_.run({&op, 1}); }
  // Runs the operator if the device supports it. Otherwise expects a reason.
  bool run_or_refuse(const Operator& op) {
    const Support support = bench_.device->supports(op);
    if (support.yes) run(op);
    EXPECT_EQ(support.yes, support.reason.empty()) << support.reason;
    return support.yes;
  }
};

}  // namespace tandem::testing
