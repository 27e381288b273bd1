// The operators that the NPU takes, and the reasons why it refuses others, which fall back to other devices (N6).
#pragma once

#include <string>

#include "engine/device/device.h"
#include "npu_emu/graph.h"

namespace tandem {

Support npu_support(const npu_emu::NpuParams& params, const Operator& op);

npu_emu::GraphProduct graph_product(std::string name, const MatMul& matmul);  // name: for errors

}  // namespace tandem
