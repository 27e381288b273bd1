// A compiled graph bound to its memory: what the NPU's worker runs for one launch.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "npu_emu/fast_matmul.h"
#include "npu_emu/graph.h"
#include "npu_emu/team.h"
#include "sync/duration_predictor.h"
#include "sync/waiter.h"

namespace tandem {

class NpuProgram final : public Program {
 public:
  // Error naming the operator when the chip refuses it or an operand has no memory. `owner` is only compared.
  NpuProgram(const Device* owner, const npu_emu::NpuParams& params, std::span<const Operator> operators);

  const Device* owner() const { return owner_; }
  const std::string& name() const { return graph_.name; }
  double compile_seconds() const override { return graph_.compile_seconds; }
  const npu_emu::CompiledGraph& graph() const { return graph_; }
  sync::DurationPredictor& wait_predictor() { return wait_predictor_; }  // the worker's

  struct Scratch {
    npu_emu::AlignedFloats activations;
    std::vector<npu_emu::AlignedFloats> sums;  // one for each thread of the team
  };
  // ends: where the steady clock's seconds at each product's end go; nullptr: nobody wants them.
  void run(npu_emu::Team& team, Scratch& scratch, std::vector<double>* ends = nullptr) const;

 private:
  struct Step {
    npu_emu::MatmulCall call;
    bool same_activations = false;  // as the step before, which did not overwrite them
  };
  const Device* owner_;
  npu_emu::CompiledGraph graph_;
  npu_emu::FastMatmul matmul_;
  std::vector<Step> steps_;
  sync::DurationPredictor wait_predictor_;
};

}  // namespace tandem
