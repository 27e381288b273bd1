// Waiting for an OpenCL event with a deadline, which the API has not.
#pragma once

#include <chrono>
#include <string>

#include "engine/device/opencl/cl.h"
#include "sync/waiter.h"

namespace tandem::opencl {

// Polls closely, letting others have the core, then more and more seldom. Error when the event ends with a failure or
// the deadline passes.
sync::WaitReport wait_for_event(const cl::Event& event, std::chrono::milliseconds deadline, const std::string& object);

}  // namespace tandem::opencl
