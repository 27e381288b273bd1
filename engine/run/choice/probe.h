// A first look at devices without samples, so that the first plan is not a guess. It runs a part of one of the model's
// products, which an ordinary core computes in a millisecond. Samples of passes soon replace it.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "engine/device/device.h"
#include "engine/run/choice/machine_rates.h"
#include "engine/run/pass/executor.h"

namespace tandem {

inline constexpr int64_t kProbeTokens = 32;  // as in a short prompt; products of fewer tokens wait for memory

// The first rows of the largest product of a layer, among a pass's operators. It has at most 0.1 GFLOP, but at least
// one panel of rows. Nothing: no layer multiplies.
std::optional<Operator> probe_of(std::span<const Operator> operators);

// Measures the probe on each device that supports it and has no samples in the rates. It runs there alone, four times
// or until 20 ms have passed, and the rates learn the shortest time. Overwrites the product's result. Errors are those
// of Executor::run(). Threads: the orchestrator's, between passes.
void probe_unknown(std::span<const std::unique_ptr<Device>> devices, const Operator& probe, Executor& executor,
                   MachineRates& rates);

}  // namespace tandem
