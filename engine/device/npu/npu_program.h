// A compiled graph that is bound to its memory. The NPU's thread runs it for one launch.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/device/thread_device.h"
#include "npu_emu/fast_matmul.h"
#include "npu_emu/graph.h"
#include "npu_emu/team.h"

namespace tandem {

// The resources that all programs of an NPU share, one program at a time: its cores, and their memory between products.
struct NpuArray {
  npu_emu::Team team;
  npu_emu::AlignedFloats activations{};
  std::vector<npu_emu::AlignedFloats> sums{};  // one for each thread of the team
};

class NpuProgram final : public ThreadWork {
 public:
  // Error naming the operator when the chip refuses it or an operand has no memory.
  NpuProgram(const npu_emu::NpuParams& params, std::span<const Operator> operators, NpuArray& array);

  double compile_seconds() const override { return graph_.compile_seconds; }
  void run(const std::function<void()>& ended) override;

 private:
  struct Step {
    npu_emu::MatmulCall call;
    bool same_activations = false;  // the same as in the step before, which did not overwrite them
  };
  NpuArray& array_;
  npu_emu::CompiledGraph graph_;
  npu_emu::FastMatmul matmul_;
  std::vector<Step> steps_;
};

}  // namespace tandem
