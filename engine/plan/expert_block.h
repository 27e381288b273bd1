// The operators of one layer's experts, found in the order of the computation.
//
// Contract: points to the caller's operators. `up` has the products in front of the gated unit (gate and up), `down`
// those behind it. `up_ends` and `down_ends` have the factors and biases of their results.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operator.h"

namespace tandem {

struct ExpertBlock {
  const Operator* route = nullptr;        // nullptr: it stands in front of what was searched
  const Operator* lists = nullptr;        // nullptr: few tokens
  const Operator* fetch = nullptr;        // the first one, if experts move; what belongs to later ones is left out
  std::vector<const Operator*> up, down;  // one for each part of the stack
  std::vector<const Operator*> up_ends, down_ends;
  const Operator* unit = nullptr;
  const Operator* sum = nullptr;  // nullptr: the routing in front is a guess

  static const GroupedMatMul& product(const Operator* op) { return std::get<GroupedMatMul>(op->body); }
  int64_t expert_bytes() const;  // of the matrices of one expert
  const char* ends() const;      // "factors" or "biases"; nullptr: no operator follows its products
};

// The rows of chosen experts that a factor or a bias changes; nullptr: the operator is neither.
const Operand* rows_of_choices(const Operator& op);
// The same factor or bias on other rows, with other choices.
Operator with_choices(const Operator& op, const Operand& rows, const Operand& ids, const Operand& places);

// From a layer's routing, its lists or its first fetch, to its sum.
ExpertBlock expert_block_at(std::span<const Operator> operators);

}  // namespace tandem
