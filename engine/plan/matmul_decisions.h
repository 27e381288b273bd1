// The solver's decisions (H9) for the matmuls of a pass. It decides once for each shape, since kernels of one shape
// take the same time in every layer (H7).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// The devices of the two sides, in the order of the request. The host is the general side if no other device is.
struct Sides {
  std::vector<int> general, graphs;
  const std::vector<int>& of(Side side) const { return side == Side::general ? general : graphs; }
};
Sides sides_of(std::span<const DeviceTraits> devices);

// Decisions by the first device of each side, the matmul's shape, and the number of tokens that its buffers hold.
class SolvedMatMuls {
 public:
  struct Key {
    int general = 0, graphs = 0;
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
  // Borrows the request, which must have costs. Each side has a device.
  MatMulDecisions(const PlanRequest& request, Sides sides);

  // The decision for the matmul's shape. Each call counts one operator. The reference is valid until the next call.
  const Decision& of(const Operator& matmul);
  std::vector<Decided> list() const;  // in the order of the computation
  const Sides& sides() const { return sides_; }

 private:
  const PlanRequest& request_;
  const Sides sides_;
  std::shared_ptr<SolvedMatMuls> solved_;
  std::map<SolvedMatMuls::Key, size_t> index_of_;
  std::vector<Decided> decided_;
};

}  // namespace tandem
