// From a cut to operators, and from a matmul to the limits of its cuts.
#pragma once

#include <vector>

#include "engine/device/device_traits.h"
#include "engine/plan/partition/cut.h"
#include "engine/plan/partition/token_layout.h"

namespace tandem {

// The part of a matmul as an operator of its own. On the NPU it has the tokens of its graph: those behind the part's
// own are padding, read from and written to whatever lies behind them in the buffers.
Operator part_operator(const Operator& matmul, const Part& part);

// All rows of the matmul for each graph of the layout.
std::vector<Operator> graph_operators(const Operator& matmul, const TokenLayout& layout);

// The device's sizes and steps, and the tokens that the matmul's slots hold (any number where it has none).
CutLimits cut_limits(const DeviceTraits& npu, const MatMul& matmul);

}  // namespace tandem
