// What the solver (H9) decides for the matmuls of a pass: once for each shape, since kernels of one shape take the same
// time in every layer (H7).
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"

namespace tandem {

class MatMulDecisions {
 public:
  // Borrows the request, which has costs; `gpu` and `npu` are indices of its devices.
  MatMulDecisions(const PlanRequest& request, int gpu, int npu) : request_(request), gpu_(gpu), npu_(npu) {}

  const Decision& of(const Operator& matmul);
  std::vector<Decided> list() const;  // in the order of the computation

 private:
  const PlanRequest& request_;
  int gpu_, npu_;
  std::map<std::pair<MatMulShape, int64_t>, size_t> index_of_;  // by shape and by the tokens that its buffers hold
  std::vector<Decided> decided_;
};

}  // namespace tandem
