// A Vulkan device as one side of litmus tests (engine/device/lab/litmus.h), by shaders/litmus.comp.
//
// Contract: as LitmusAgent. Memory must be shared (prove_zero_copy). Vulkan promises that host and shader see each
// other's stores at submissions and fences only. These tests show what the driver does while a shader runs.
#pragma once

#include <memory>

#include "engine/device/lab/litmus.h"
#include "engine/device/vulkan/pipelines.h"

namespace tandem::vulkan {

std::unique_ptr<LitmusAgent> make_litmus_agent(Handle& handle, Pipelines& pipelines);

}  // namespace tandem::vulkan
