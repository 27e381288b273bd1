// `tandem bench-sync --litmus`: memory-ordering litmus tests between every two processors, as a table or JSON.
#pragma once

#include <cstdint>

#include "engine/app/common_flags.h"
#include "engine/device/registry.h"

namespace tandem::app {

// Pairs of host threads and flags.devices (none: all that are here), both ways round, each until both sides were at
// `iterations` instances at once. Fails when a forbidden outcome was seen.
int litmus_command(const CommonFlags& flags, const DeviceOptions& options, uint64_t iterations);

}  // namespace tandem::app
