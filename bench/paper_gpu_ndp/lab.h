// The GPU-NDP paper's settings: a model, a number of units and an engine (G2 to G5). Their results are the seconds of
// experts in a prompt or a token, or of a whole run.
//
// Contract: everything is modelled, by engine/moe/near_memory.h. No latency is added. Not thread-safe.
#pragma once

#include <map>

#include "bench/paper_gpu_ndp/traffic.h"

namespace tandem::paper_gpu_ndp {

// G5. monde: whole experts, cyclically on the units. In text it moves as many to the GPU as end soonest, from the
// busiest unit; in a prompt none. tp: G2. tp_lb: + G3. tp_pre: + G4. all: G2 to G4. by_counts: all, and prompts by the
// tokens of each expert (engine/moe/near_memory.h), which the paper does not do.
enum class NdpEngine : uint8_t { on_demand, fiddler, monde, tp, tp_lb, tp_pre, all, by_counts };

class Lab {
 public:
  explicit Lab(NdpMachine machine = {}, double skew = kSkew) : machine_(machine), skew_(skew) {}

  const NdpMachine& machine() const { return machine_; }
  bool is_supported(NdpModel model, int64_t units) const { return paper_gpu_ndp::is_supported(machine_, model, units); }
  // One layer's experts: of a prompt, of a token with `resident` experts of the layer on the GPU.
  double prompt_seconds(NdpModel model, int64_t units, NdpEngine engine);
  double token_seconds(NdpModel model, int64_t units, NdpEngine engine, int64_t resident);
  double token_seconds(NdpModel model, int64_t units, NdpEngine engine);  // resident: those of the ablation
  // A prompt and all output tokens, in all layers, with everything on the GPU that is no expert, and G4's copy.
  double run_seconds(NdpModel model, int64_t units, NdpEngine engine);

 private:
  const Traffic& traffic(NdpModel model);

  NdpMachine machine_;
  double skew_;
  std::map<NdpModel, Traffic> traffic_;
};

// G5: experts on each unit, whole ones, by id. [units]
std::vector<int64_t> cyclic_counts(const std::vector<int64_t>& experts, int64_t units);

}  // namespace tandem::paper_gpu_ndp
