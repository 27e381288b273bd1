// What a device costs on the model clock before anything was measured: a roofline from what the driver reports.
#pragma once

#include <span>

#include "engine/device/device.h"

namespace tandem::gpu {

struct Roofline {
  double flops_per_second = 0, bytes_per_second = 0;
  double kernel_seconds = 0;  // per operator: queueing and starting one kernel
  double watts = 0;
};

// A CPU core: two 512-bit fused multiply-adds a cycle (64 flops), 85 % of it reached by a register-tiled kernel; 25
// GB/s of packed weights a core (4-bit GEMV on PoCL, measured); 0.6 us a kernel in a filled queue; 8 W a core. A GPU's
// compute unit: 128 lanes, half of them reached, 12 GB/s of the memory each, 5 us a kernel, 1.5 W. Profiles measured on
// the device replace this.
Roofline roofline(bool cpu, int compute_units, double clock_hz);

Cost cost(const Roofline& rates, std::span<const Operator> operators);

}  // namespace tandem::gpu
