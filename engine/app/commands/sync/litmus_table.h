// `tandem bench-sync --litmus`: memory-ordering litmus tests between every two processors, as a table or JSON.
#pragma once

#include <cstdint>

#include "engine/app/common_flags.h"
#include "engine/device/registry.h"

namespace tandem::app {

// Runs pairs of host threads and flags.engine.devices (all devices of this machine if empty), in both roles. A test
// ends when both sides have worked on `iterations` instances at once. Fails if it saw a forbidden outcome.
int litmus_command(const CommonFlags& flags, const DeviceOptions& options, uint64_t iterations);

}  // namespace tandem::app
