// Litmus agents on a device that works on a thread of this process (engine/device/thread_device.h).
#pragma once

#include <memory>
#include <string>

#include "engine/device/lab/litmus.h"
#include "sync/worker.h"

namespace tandem {

std::unique_ptr<LitmusAgent> make_worker_litmus_agent(std::string device, sync::Worker& thread);

}  // namespace tandem
