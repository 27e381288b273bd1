// The emulated NPU as a device: it computes matrix products in static graphs and refuses everything else by name.
//
// Contract: as engine/device/thread_device.h, and
//   Operands are halves: activations are rounded to f16 on entry (already rounded ones stay as they are), f32 and bf16
//   weights too. Sums are f32, in the order of docs/numbers.md, whatever the array, slice, token count or number of
//   cores. prepare() compiles a graph. The time that this takes on the chip is modelled (compile_seconds); no thread
//   sleeps for it. The device's thread is tied to npu_cores[0]; further npu_cores take parts of every product. The
//   parameter `params` names a file of the chip's numbers (docs/npu.md).
#pragma once

#include <memory>

#include "engine/device/device_factory.h"

namespace tandem {

DeviceCount npu_device_count();  // always 1: the emulator needs no driver
std::unique_ptr<Device> open_npu_device(int index, const DeviceOptions& options);

}  // namespace tandem
