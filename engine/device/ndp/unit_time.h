// The time of a near-memory unit: the longer of reading its weights and of multiplying them.
//
// Contract: pure functions over numbers that the caller gives; nothing is measured. Source: GPU-NDP, section III.A and
// table I. Results of an emulated unit come from the host's loops (engine/device/ndp/ndp_device.h), so its time on the
// wall clock says nothing about a unit.
#pragma once

#include "engine/device/device.h"
#include "engine/device/device_factory.h"

namespace tandem {

// A unit as the paper has it, beside its card: 102.4 GB/s and 51.2 GMAC/s for each of 32 GiB, PCIe 5.0,
// DDR5-5600, RTX 5080.
NearMemory default_near_memory();
// The same with the parameters of an id. Units: 1e9 bytes/s (gbps, link, host, card_gbps), 1e9 multiply-adds/s (gmacs,
// card_gmacs), GiB (gib, card_gib). Error: a value that is no number above 0.
NearMemory near_memory_of(const DeviceParameters& parameters);

// Of one operator; activations come from other memory and take no time here.
Cost unit_cost(const NearMemory& unit, const Operator& op);

}  // namespace tandem
