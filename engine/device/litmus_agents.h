// Litmus agents on a device whose queue is served by a thread of this process: the emulated NPU, the host's loops.
#pragma once

#include <memory>
#include <string>

#include "engine/device/litmus.h"
#include "engine/device/thread_probe.h"

namespace tandem {

std::unique_ptr<LitmusAgent> make_queue_litmus_agent(std::string device, ThreadQueue queue);

}  // namespace tandem
