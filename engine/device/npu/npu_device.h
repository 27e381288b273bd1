// The emulated NPU as a device: matrix products in static graphs, everything else refused by name.
//
// Contract: as engine/device/device.h, and
//   Its operands are halves: activations are rounded to f16 on entry (already rounded ones stay as they are), f32 and
//   bf16 weights too; sums are f32, one ascending fma chain for each output, whatever the slice, token count or number
//   of cores. prepare() compiles a graph; what that costs on the chip is modelled (compile_seconds), nothing is slept
//   away. launch() queues to the NPU's worker thread, tied to npu_cores[0]; further npu_cores take parts of every
//   product. The worker waits on the flags with DeviceOptions.sync_policy and sleeps when its queue is empty.
#pragma once

#include <memory>

#include "engine/device/registry.h"
#include "engine/device/thread_probe.h"

namespace tandem {

DeviceCount npu_device_count();  // the emulator needs nothing: 1
std::unique_ptr<Device> open_npu_device(int index, const DeviceOptions& options);

// The NPU's command queue, for what else is to run on its thread in its order. The NPU outlives it.
ThreadQueue npu_thread(Device& npu);

}  // namespace tandem
