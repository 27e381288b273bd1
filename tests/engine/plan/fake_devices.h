// Devices as the planner sees them, without drivers.
#pragma once

#include "engine/device/device_traits.h"

namespace tandem::testing {

inline Support everything(const Operator&) { return {}; }
inline Support only_matmul(const Operator& op) {
  if (std::holds_alternative<MatMul>(op.body)) return {};
  return {false, "not a matmul"};
}

inline DeviceTraits fake_gpu(std::string id = "opencl:0") {
  return {.id = std::move(id), .supports = everything, .cuts_rows = true};
}

// An NPU with static graphs of these sizes. An empty list allows any size.
inline DeviceTraits fake_npu(std::vector<int64_t> graph_tokens = {}, std::string id = "npu:0") {
  DeviceTraits npu{.id = std::move(id), .supports = only_matmul};
  npu.rounds_to_f16 = npu.cuts_rows = npu.static_graphs = true;
  npu.graph_tokens = std::move(graph_tokens);
  return npu;
}

// A host on a thread of its own, or on the NPU's thread.
inline DeviceTraits fake_host(std::string thread_of = "") {
  DeviceTraits host{.id = "host", .supports = everything};
  host.thread_of = std::move(thread_of);
  return host;
}

}  // namespace tandem::testing
