// Numbers that are not finite: whether some are among logits, and where in a pass they began.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/device/device.h"
#include "engine/run/executor.h"

namespace tandem {

bool all_finite(std::span<const float> values);

// Runs a pass's operators one by one, each on the first of the devices that supports it, until one writes an activation
// that is not finite: "layer 3, attn_output on opencl:0". Nothing: none does. The pass's ids and positions are in their
// buffers; its keys and values are written again. Slow: for errors. Error as of Executor::run().
std::optional<std::string> where_not_finite(std::span<const Operator> operators,
                                            std::span<const std::unique_ptr<Device>> devices, Executor& executor);

}  // namespace tandem
