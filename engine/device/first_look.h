// A first look at a GPU: a short measurement of one token's kind of work, to compare the interfaces to one card.
//
// Contract: one launch contains sixteen products of one token with 2048 x 2048 weights of 4 bits. Each product reads
// what the one before it has written. The result is the least of several times, from the launch until the host knows
// that it has ended. The first launch does not count, because it compiles and moves the weights. The others repeat
// until 0.03 s have passed, at least once. Error when the device fails or refuses. Threads: the caller's, with no other
// work on the device. The pool outlives the device.
#pragma once

#include "engine/device/device.h"
#include "sync/pool.h"

namespace tandem {

double first_look_seconds(Device& device, sync::Pool& pool);

}  // namespace tandem
