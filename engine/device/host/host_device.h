// The host's own cores as a device: the double-precision reference, and the numeric contract as a usable fallback.
//
// Contract: as engine/device/thread_device.h. With more than one thread, large operators share their parts among
// the threads.
#pragma once

#include <memory>

#include "engine/device/device_factory.h"
#include "packed/loops/loops.h"

namespace tandem {

class ThreadDevice;

enum class HostArithmetic {
  reference,  // sums in double precision; its bits differ from the contract by design
  contract,   // docs/numbers.md: the same bits as the simd kernels and the NPU
};

DeviceCount host_device_count();
// The contract, on all cores of `options`.
std::unique_ptr<Device> open_host_device(int index, const DeviceOptions& options);

// The contract on the thread of another device, with its cores. It works in that device's order, so a hand-over between
// the two needs no wake-up. `other` outlives it.
std::unique_ptr<Device> open_host_beside(ThreadDevice& other, const DeviceOptions& options);

// threads >= 1. Error when the machine cannot run the instruction set.
std::unique_ptr<Device> make_host_device(HostArithmetic arithmetic, int threads, const DeviceOptions& options = {},
                                         InstructionSet set = best_packed_loops().set());

}  // namespace tandem
