// The operator ExpertLists: sorts the choices of a routing by expert.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// The lists of the choices of each expert. A choice is a number s * k + i: expert i of token s. The lists are int32:
//   [0]                      A, how many experts at least one token chose
//   [1, 1 + A)               these experts, ascending
//   [1 + E, 1 + E + A + 1)   where each one's choices begin in the part below, and where the last one's end
//   [2 + 2 E, 2 + 2 E + S k) the choices, by expert, then ascending
// The rest of [0, 2 + 2 E) is not written. The memory has expert_list_words() for every token, so that any slice of the
// tokens has room for its own lists.
constexpr int64_t expert_list_words(int64_t E, int64_t k) { return 2 + 2 * E + k; }  // of one token
constexpr int64_t expert_list_begins(int64_t E) { return 1 + E; }
constexpr int64_t expert_list_choices(int64_t E) { return 2 + 2 * E; }

struct ExpertLists {
  int64_t S = 0, E = 0, k = 0;
  Operand ids;    // int32 [S, k], each in [0, E)
  Operand lists;  // int32 [S, expert_list_words(E, k)]

  bool operator==(const ExpertLists&) const = default;
  const char* kind() const { return "expert_lists"; }
  Features features() const { return {Feature::routing}; }
  double flops() const { return 1.0 * S * k; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{ids_of(op.ids, Use::read, op.S, op.k),
                      ids_of(op.lists, Use::write, op.S, expert_list_words(op.E, op.k))};
  }
};

}  // namespace tandem
