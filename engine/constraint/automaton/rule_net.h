// A grammar as a net of states: each rule is a graph whose edges read a byte of a range, read nothing, or call a rule.
//
// A rule accepts what its edges read on a way from its start to its end. An edge that calls a rule reads what that rule
// accepts. So the net is a recursive transition network, and with a stack of returns a pushdown automaton.
//
// Contract: plain data that grows. Rule 0 is the root. Error: more states or edges than kMostStates and kMostEdges.
// Interrupted: the program was asked to stop (sync/long_wait.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::constraint {

using StateId = int32_t;
using RuleId = int32_t;

inline constexpr int64_t kMostStates = 1'000'000;
inline constexpr int64_t kMostEdges = 3'000'000;

struct Edge {
  enum class Kind : uint8_t { bytes, nothing, call };
  StateId from = 0, to = 0;
  RuleId rule = -1;           // of a call
  uint8_t low = 0, high = 0;  // of bytes, both included
  Kind kind = Kind::nothing;
};

class RuleNet {
 public:
  RuleId add_rule(std::string name);
  StateId add_state();
  void add_byte(StateId from, uint8_t low, uint8_t high, StateId to);
  void add_nothing(StateId from, StateId to);
  void add_call(StateId from, RuleId rule, StateId to);
  void add_text(StateId from, std::string_view bytes, StateId to);  // these bytes, one after the other

  void require_room(int64_t states) const;  // Error: so many more states are too many

  // A piece of the net: the states and edges that were added behind a mark, between a state `begin` of before and a
  // state of the piece.
  struct Mark {
    int64_t states;
    size_t edges;
  };
  Mark mark() const { return {states_, edges_.size()}; }
  // The same piece once more, from another begin. The number by which its states are higher.
  StateId add_copy(const Mark& first, const Mark& last, StateId begin, StateId other_begin);

  StateId start(RuleId rule) const { return rules_[static_cast<size_t>(rule)].start; }
  StateId end(RuleId rule) const { return rules_[static_cast<size_t>(rule)].end; }
  const std::string& name(RuleId rule) const { return rules_[static_cast<size_t>(rule)].name; }
  int64_t rules() const { return static_cast<int64_t>(rules_.size()); }
  int64_t states() const { return states_; }
  const std::vector<Edge>& edges() const { return edges_; }

 private:
  friend class Trimming;
  void add(const Edge& edge);
  struct Rule {
    std::string name;
    StateId start = 0, end = 0;
  };
  std::vector<Rule> rules_;
  std::vector<Edge> edges_;
  int64_t states_ = 0;
};

}  // namespace tandem::constraint
