// Waits in real time that make a part of this machine as slow as that of another one (--link-gbps, --host-slower).
//
// Contract: each thread waits for itself. A wait ends a few microseconds behind its time, or not at all before it.
#pragma once

#include "sync/clock.h"

namespace tandem::sync {

// Returns at that time of now_seconds(), or at once if it has passed. Sleeps, and yields for the last part.
void wait_until(double seconds);

}  // namespace tandem::sync
