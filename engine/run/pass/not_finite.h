// Numbers that are not finite: whether logits have some, and where in a pass they began.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/device/device.h"
#include "engine/run/pass/executor.h"

namespace tandem {

bool all_finite(std::span<const float> values);

// Finds the first operator of a pass that writes an activation that is not finite: "layer 3, attn_output on opencl:0".
// Nothing: no operator does. Runs the operators one by one, each on the first of the devices that supports it. The
// pass's ids and positions must be in their buffers. Its keys and values are written again. Slow, so only for errors.
// Errors are those of Executor::run().
std::optional<std::string> where_not_finite(std::span<const Operator> operators,
                                            std::span<const std::unique_ptr<Device>> devices, Executor& executor);

}  // namespace tandem
