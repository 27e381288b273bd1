// Strings of JSON as edges of a net: their characters as themselves, or as escapes.
//
// Contract: adds edges and states between two states of the net. Half a surrogate pair is never written. It
// borrows the net.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/constraint/automaton/rule_net.h"
#include "engine/constraint/text/char_automaton.h"
#include "engine/constraint/text/code_points.h"

namespace tandem::constraint {

// usual: an escape stands where JSON needs one, and, as \uXXXX, for any character beyond printable ASCII. any: \uXXXX
// and \/ also for others.
enum class Spelling { usual, any };

class JsonStrings {
 public:
  explicit JsonStrings(RuleNet& net) : net_(net) {}

  void add_character(StateId from, const CharacterSet& set, Spelling spelling, StateId to);  // one of the set
  void add_any(StateId from, StateId to);  // a whole string, with its quotes
  // Of so many characters; most < 0: of any number from `least` on.
  void add_of_length(StateId from, int64_t least, int64_t most, StateId to);
  void add_accepted(StateId from, const CharAutomaton& automaton, StateId to);
  void add_text(StateId from, const std::string& text, StateId to);  // this string, in its usual spelling
  // Any string but these, however they are spelled.
  void add_other_than(StateId from, const std::vector<std::string>& texts, StateId to);

 private:
  void add_any_character(StateId from, StateId to);
  void add_behind_backslash(StateId escape, const CharacterSet& set, Spelling spelling, StateId to);
  RuleNet& net_;
  RuleId any_ = -1, escape_ = -1;
};

}  // namespace tandem::constraint
