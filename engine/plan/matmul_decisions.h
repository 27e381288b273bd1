// What the solver (H9) decides for the matmuls of a pass: once for each shape, since kernels of one shape take the same
// time in every layer (H7).
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

// By the two devices, by shape and by the tokens that its buffers hold.
class SolvedMatMuls {
 public:
  struct Key {
    int gpu = 0, npu = 0;
    MatMulShape shape;
    int64_t token_room = 0;
    auto operator<=>(const Key&) const = default;
  };
  // `solve` is called where nobody has asked before.
  const Decision& of(const Key& key, const std::function<Decision()>& solve);

 private:
  std::map<Key, Decision> known_;
};

class MatMulDecisions {
 public:
  // Borrows the request, which has costs; `gpu` and `npu` are indices of its devices.
  MatMulDecisions(const PlanRequest& request, int gpu, int npu);

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
