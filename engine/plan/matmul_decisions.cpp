#include "engine/plan/matmul_decisions.h"

#include <utility>

#include "engine/plan/partition/part_operator.h"
#include "engine/plan/roles.h"

namespace tandem {

// Devices with graphs are one side, and the other devices that cut rows are the other side.
Sides sides_of(std::span<const DeviceTraits> devices) {
  Sides sides;
  for (const int device : row_cutters(devices)) {
    const bool has_graphs = role_of(devices[static_cast<size_t>(device)]) == DeviceRole::graphs;
    (has_graphs ? sides.graphs : sides.general).push_back(device);
  }
  return sides;
}

const Decision& SolvedMatMuls::of(const Key& key, const std::function<Decision()>& solve) {
  const auto found = known_.find(key);
  return found != known_.end() ? found->second : known_.emplace(key, solve()).first->second;
}

MatMulDecisions::MatMulDecisions(const PlanRequest& request, Sides sides)
    : request_(request),
      sides_(std::move(sides)),
      solved_(request.costs.solved ? request.costs.solved : std::make_shared<SolvedMatMuls>()) {}

// A shape that is new to this plan may have a decision from another plan under the same costs (solved_). Only a shape
// that is new to both is solved. The key has the room of the buffers too, because padding depends on it.
const Decision& MatMulDecisions::of(const Operator& matmul) {
  const auto& body = std::get<MatMul>(matmul.body);
  const MatMulShape shape = shape_of(body);
  const CutLimits limits = cut_limits(request_.devices[static_cast<size_t>(sides_.graphs.front())], body);
  const SolvedMatMuls::Key key{sides_.general.front(), sides_.graphs.front(), shape, limits.token_room};
  const auto [found, is_new] = index_of_.try_emplace(key, decided_.size());
  if (is_new) {
    const CutCosts costs{[&](const Part& part, bool both) {
                           const std::vector<int>& devices = sides_.of(part.side);
                           const Operator own = part_operator(matmul, part);
                           return devices.size() == 1 ? request_.costs.seconds(devices.front(), own, both)
                                                      : cut_between(request_, devices, own).seconds;
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
