// Compiles the kernels that a GPU needs for passes, before any pass runs.
//
// Contract: the machine's devices are open. Nothing happens if none of them is a GPU. Errors are the compiler's.
// Threads: the orchestrator's.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/graph/activations.h"
#include "engine/graph/decoder.h"
#include "engine/run/machine/machine.h"

namespace tandem {

using OperatorsOf = std::function<std::vector<Operator>(const Batch&)>;  // of one pass of an engine

// Compiles all kernels that a GPU needs for passes of these batches, whatever their plans.
void prepare_kernels(Machine& machine, std::span<const Batch> batches, const OperatorsOf& operators_of);

// The batches of a few tokens, of one text and of many. If their kernels are prepared together, all these passes use
// one list kernel (engine/device/opencl/list_launcher.h). Empty: no GPU takes lists of several tokens.
std::vector<Batch> listed_batches(const Machine& machine, const ActivationSizes& sizes);
// Whether passes of few tokens find their kernels compiled, also those of trees: they are lists, or there is no GPU.
bool has_kernels_of_few_tokens(const Machine& machine);

}  // namespace tandem
