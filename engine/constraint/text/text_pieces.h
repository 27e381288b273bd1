// Lays characters into a net of rules, as their bytes.
//
// Contract: adds edges and states between two states of the net. Error: the net is full.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "engine/constraint/automaton/rule_net.h"
#include "engine/constraint/text/code_points.h"
#include "engine/constraint/text/digit_ranges.h"

namespace tandem::constraint {

// Adds ways that all end in one state, and shares their ends: [a][b][c] and [d][b][c] have one edge for [b] and [c].
class SharedEnds {
 public:
  struct Bytes {  // one of these ranges
    std::vector<DigitRange> ranges;
    auto operator<=>(const Bytes&) const = default;
  };
  SharedEnds(RuleNet& net, StateId end) : net_(net), end_(end) {}
  void add(StateId from, const std::vector<Bytes>& way);

 private:
  StateId state_before(const std::vector<Bytes>& rest);
  RuleNet& net_;
  const StateId end_;
  std::map<std::vector<Bytes>, StateId> states_;
};

void add_characters(RuleNet& net, StateId from, const CharacterSet& set, StateId to);  // one character of the set

// A piece of a grammar between two states.
using Piece = std::function<void(RuleNet& net, StateId from, StateId to)>;
// The piece `least` to `most` times; most < 0: any number above.
void add_repeated(RuleNet& net, StateId from, int64_t least, int64_t most, const Piece& piece, StateId to);

}  // namespace tandem::constraint
