// The cost of a device on the model clock before any measurement: a roofline from the driver's report.
#pragma once

#include <span>

#include "engine/device/device.h"

namespace tandem::gpu {

struct Roofline {
  double flops_per_second = 0, bytes_per_second = 0;
  double kernel_seconds = 0;  // per operator: queueing and starting one kernel
  double watts = 0;
};

// A CPU core: two 512-bit fused multiply-adds a cycle (64 flops), of which a register-tiled kernel reaches 85 %. It
// reads 25 GB/s of packed weights (4-bit GEMV on PoCL, measured), takes 0.6 us for a kernel in a filled queue, and 8 W.
// A GPU's compute unit: 128 lanes, of which half are reached, 12 GB/s of the memory, 5 us for a kernel and 1.5 W.
// Profiles measured on the device replace these figures.
Roofline roofline(bool cpu, int compute_units, double clock_hz);

Cost cost(const Roofline& rates, std::span<const Operator> operators);

}  // namespace tandem::gpu
