// The host's own cores as a device: the double-precision reference, and the numeric contract as a usable fallback.
//
// Contract: as engine/device/thread_device.h. With more than one thread, the parts of large operators are shared.
#pragma once

#include <memory>

#include "engine/device/device_factory.h"

namespace tandem {

class ThreadDevice;

enum class HostArithmetic {
  reference,  // sums in double precision; other bits than the contract by design
  contract,   // docs/numbers.md: the bits of the simd kernels and of the NPU
};

DeviceCount host_device_count();
std::unique_ptr<Device> open_host_device(int index, const DeviceOptions& options);  // contract, on all given cores

// The contract on the thread of another device (and its cores): in its order, so that what either hands to the other
// takes no waking. `other` outlives it.
std::unique_ptr<Device> open_host_beside(ThreadDevice& other, const DeviceOptions& options);

// threads >= 1; loops: "avx512", "avx2", "portable", or "" for the fastest. Error when the machine cannot run them.
std::unique_ptr<Device> make_host_device(HostArithmetic arithmetic, int threads, const DeviceOptions& options = {},
                                         const char* loops = "");

}  // namespace tandem
