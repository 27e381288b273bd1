// A first look at devices that nothing is known of, so that the first plan is no blind one: a part of one product of
// the model, which an ordinary core computes in a millisecond. What passes take afterwards replaces it soon.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "engine/device/device.h"
#include "engine/run/executor.h"
#include "engine/run/machine_rates.h"

namespace tandem {

inline constexpr int64_t kProbeTokens = 32;  // as in a short prompt: products of fewer tokens wait for memory

// Of a pass's operators: the first rows of the largest product of a layer, 0.1 GFLOP of it or a panel of rows. Nothing
// where no layer multiplies.
std::optional<Operator> probe_of(std::span<const Operator> operators);

// Runs it alone on each of the devices that supports it and of which the rates know nothing, four times or until 20 ms
// have passed, and tells the rates what the shortest run took. Overwrites the product's result. Threads: the
// orchestrator's, between passes. Error as of Executor::run().
void probe_unknown(std::span<const std::unique_ptr<Device>> devices, const Operator& probe, Executor& executor,
                   MachineRates& rates);

}  // namespace tandem
