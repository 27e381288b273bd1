// Prepares a net of rules for running: removes what no text can use, and orders the rules.
//
// Contract: pure functions. Every state that is left lies on a way to the end of its rule, so a text that has begun can
// always be completed. Error: no text satisfies the root, or a rule calls itself before it has read a byte.
#pragma once

#include <array>
#include <vector>

#include "engine/constraint/automaton/rule_net.h"

namespace tandem::constraint {

// Which bytes a text may have: those that a vocabulary can write one by one.
using ByteSet = std::array<bool, 256>;

struct TrimmedNet {
  struct ByteEdge {
    uint8_t low, high;
    StateId to;
  };
  struct CallEdge {
    RuleId rule;
    StateId to;
  };
  // Of each state: the ranges of the lists below. begin[s] to begin[s + 1].
  std::vector<int32_t> byte_begin, call_begin, nothing_begin;
  std::vector<ByteEdge> bytes;
  std::vector<CallEdge> calls;
  std::vector<StateId> nothings;  // targets of edges that read nothing; a call of a rule that may be empty is one, too
  std::vector<bool> is_end;       // of a rule
  std::vector<StateId> starts;    // of the rules
  std::vector<int32_t> ranks;     // of the rules: one that calls another before it has read a byte has a lower rank
  ByteSet usable{};               // no other bytes are read
};

// Error: see above. `on` is the object of errors.
TrimmedNet trimmed(const RuleNet& net, const ByteSet& usable, const std::string& on);

}  // namespace tandem::constraint
