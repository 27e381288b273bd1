// G1: an emulated near-memory unit as a device: a memory module that computes the experts which lie in it.
//
// Contract: as engine/device/thread_device.h, and
//   It computes products of experts and their gated unit, and products of whole matrices. It refuses all other
//   operators by the name of the feature. Results are those of the numeric contract, over the same packed bytes, by the
//   host's loops. So its time on the wall clock is that of a core of the host. estimate() is the time of a unit,
//   computed from the parameters of its id: gbps, gmacs, gib (docs/gpu-ndp.md). Several units may work in turn on one
//   thread.
#pragma once

#include <memory>

#include "engine/device/device_factory.h"

namespace tandem {

class ThreadDevice;

inline constexpr int kMostNdpUnits = 16;

DeviceCount ndp_device_count();  // 1: lists of devices have one unit, and more can be opened by their numbers
std::unique_ptr<Device> open_ndp_device(int index, const DeviceOptions& options);
// A unit on the thread of another device, which outlives it.
std::unique_ptr<Device> open_ndp_beside(ThreadDevice& other, int index, const DeviceOptions& options);

}  // namespace tandem
