// Waits for an OpenCL event with a deadline, which the API itself does not offer.
//
// Contract: Error when the event ends with a failure or the deadline passes. Threads: any.
#pragma once

#include <chrono>
#include <string>

#include "engine/device/opencl/cl.h"
#include "sync/waiter.h"

namespace tandem::opencl {

// Looks at the event all the time for half a millisecond, yielding the core between looks. Later it looks every 50 us.
sync::WaitReport wait_for_event(const cl::Event& event, std::chrono::milliseconds deadline, const std::string& object);

}  // namespace tandem::opencl
