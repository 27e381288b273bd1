#include "engine/plan/matmul_decisions.h"

#include "engine/plan/partition/part_operator.h"

namespace tandem {

const Decision& MatMulDecisions::of(const Operator& matmul) {
  const auto& body = std::get<MatMul>(matmul.body);
  const MatMulShape shape = shape_of(body);
  const CutLimits limits = cut_limits(request_.devices[static_cast<size_t>(npu_)], body);
  const auto [found, is_new] = index_of_.try_emplace({shape, limits.token_room}, decided_.size());
  if (is_new) {
    const CutCosts costs{[&](const Part& part, bool both) {
                           const int device = part.side == Side::gpu ? gpu_ : npu_;
                           return request_.costs.seconds(device, part_operator(matmul, part), both);
                         },
                         request_.costs.sync_seconds, request_.costs.copy_seconds};
    decided_.push_back({matmul.name, shape, 0, solve(shape.S, shape.N, limits, costs)});
  }
  Decided& decided = decided_[found->second];
  ++decided.operators;
  return decided.decision;
}

std::vector<Decided> MatMulDecisions::list() const { return decided_; }

}  // namespace tandem
