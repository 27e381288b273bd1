// The emulated NPU as a device: matrix products in static graphs, everything else refused by name.
//
// Contract: as engine/device/thread_device.h, and
//   Its operands are halves: activations are rounded to f16 on entry (already rounded ones stay as they are), f32 and
//   bf16 weights too; sums are f32, one ascending fma chain for each output, whatever the slice, token count or number
//   of cores. prepare() compiles a graph; what that costs on the chip is modelled (compile_seconds), nothing is slept
//   away. Its thread is tied to npu_cores[0]; further npu_cores take parts of every product. The parameter `params` is
//   a file of the chip's numbers (docs/npu.md).
#pragma once

#include <memory>

#include "engine/device/device_factory.h"

namespace tandem {

DeviceCount npu_device_count();  // the emulator needs nothing: 1
std::unique_ptr<Device> open_npu_device(int index, const DeviceOptions& options);

}  // namespace tandem
