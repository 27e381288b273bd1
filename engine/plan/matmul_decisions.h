// The solver's decisions (H9) for the matmuls of a pass. It decides once for each shape, since kernels of one shape
// take the same time in every layer (H7).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// Decisions by the two devices, the matmul's shape, and the number of tokens that its buffers hold.
class SolvedMatMuls {
 public:
  struct Key {
    int gpu = 0, npu = 0;
    MatMulShape shape;
    int64_t token_room = 0;
    auto operator<=>(const Key&) const = default;
  };
  // Calls `solve` only for a key that has no decision yet. The reference lasts as long as this object.
  const Decision& of(const Key& key, const std::function<Decision()>& solve);

 private:
  std::map<Key, Decision> known_;
};

// The decisions of one plan, with the number of operators that each one holds for.
class MatMulDecisions {
 public:
  // Borrows the request, which must have costs. gpu and npu: indices of its devices.
  MatMulDecisions(const PlanRequest& request, int gpu, int npu);

  // The decision for the matmul's shape. Each call counts one operator. The reference is valid until the next call.
  const Decision& of(const Operator& matmul);
  std::vector<Decided> list() const;  // in the order of the computation

 private:
  const PlanRequest& request_;
  int gpu_, npu_;
  std::shared_ptr<SolvedMatMuls> solved_;
  std::map<SolvedMatMuls::Key, size_t> index_of_;
  std::vector<Decided> decided_;
};

}  // namespace tandem
