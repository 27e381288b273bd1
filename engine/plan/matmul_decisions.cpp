#include "engine/plan/matmul_decisions.h"

#include "engine/plan/partition/part_operator.h"

namespace tandem {

const Decision& SolvedMatMuls::of(const Key& key, const std::function<Decision()>& solve) {
  const auto found = known_.find(key);
  return found != known_.end() ? found->second : known_.emplace(key, solve()).first->second;
}

MatMulDecisions::MatMulDecisions(const PlanRequest& request, int gpu, int npu)
    : request_(request),
      gpu_(gpu),
      npu_(npu),
      solved_(request.costs.solved ? request.costs.solved : std::make_shared<SolvedMatMuls>()) {}

// A shape that is new to this plan may have a decision from another plan under the same costs (solved_). Only a shape
// that is new to both is solved. The key has the room of the buffers too, because padding depends on it.
const Decision& MatMulDecisions::of(const Operator& matmul) {
  const auto& body = std::get<MatMul>(matmul.body);
  const MatMulShape shape = shape_of(body);
  const CutLimits limits = cut_limits(request_.devices[static_cast<size_t>(npu_)], body);
  const SolvedMatMuls::Key key{gpu_, npu_, shape, limits.token_room};
  const auto [found, is_new] = index_of_.try_emplace(key, decided_.size());
  if (is_new) {
    const CutCosts costs{[&](const Part& part, bool both) {
                           const int device = part.side == Side::gpu ? gpu_ : npu_;
                           return request_.costs.seconds(device, part_operator(matmul, part), both);
                         },
                         request_.costs.sync_seconds, request_.costs.copy_seconds};
    const auto decide = [&] { return solve(shape.S, shape.N, limits, costs); };
    decided_.push_back({matmul.name, shape, 0, solved_->of(key, decide)});
  }
  Decided& decided = decided_[found->second];
  ++decided.operators;
  return decided.decision;
}

std::vector<Decided> MatMulDecisions::list() const { return decided_; }

}  // namespace tandem
