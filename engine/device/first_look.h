// A first look at a GPU: how long a token's kind of work takes on it, so that interfaces to one card can be compared.
//
// Contract: sixteen products of one token with 2048 x 2048 weights of 4 bits, each reading what the one before it has
// written, in one launch: the least of several, from the launch until the host knows that it has ended. The first one,
// which compiles and moves the weights, does not count; those that do take 0.03 s together, or one of them. Error where
// the device fails, or refuses. Threads: the caller's, with nothing else on the device. The pool outlives the device.
#pragma once

#include "engine/device/device.h"
#include "sync/pool.h"

namespace tandem {

double first_look_seconds(Device& device, sync::Pool& pool);

}  // namespace tandem
