// Makes operators from the parts of a cut, and the limits of cuts from a matmul and a device.
//
// Contract: pure functions.
#pragma once

#include <vector>

#include "engine/device/device_traits.h"
#include "engine/plan/partition/cut.h"
#include "engine/plan/partition/token_layout.h"

namespace tandem {

// The part of a matmul as an operator. On the NPU it has all tokens of its graph. Tokens beyond the part's own are
// padding: the operator reads and overwrites the buffers' rows behind the part.
Operator part_operator(const Operator& matmul, const Part& part);

// One operator for each graph of the layout, with all rows of the matmul.
std::vector<Operator> graph_operators(const Operator& matmul, const TokenLayout& layout);

// The device's sizes and steps, and the tokens for which the matmul's slots have room. Without slots: any number.
CutLimits cut_limits(const DeviceTraits& npu, const MatMul& matmul);

}  // namespace tandem
