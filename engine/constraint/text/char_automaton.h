// Automata over characters, for patterns of strings: before they are written as bytes or as JSON.
//
// Contract: values. State 0 is the start, and no edge reads nothing. Error: more than the limits, or
// Interrupted (tandem/error.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/constraint/text/code_points.h"

namespace tandem::constraint {

inline constexpr int64_t kMostPatternStates = 20'000;
inline constexpr int64_t kMostPatternEdges = 200'000;
inline constexpr int64_t kMostPatternRanges = 3'000'000;  // of the sets of all edges; each is an edge of bytes later
inline constexpr int64_t kMostPatternWork = 200'000'000;  // ranges that a product looks at

struct CharAutomaton {
  struct Step {
    CharacterSet set;
    int32_t to;
  };
  struct State {
    std::vector<Step> steps;
    bool is_end = false;
  };
  std::vector<State> states{1};
  int64_t edges() const;
  void check(std::string_view on) const;  // Error: it is too large
};

// Texts of so many characters; most < 0: any number from `least` on.
CharAutomaton of_length(int64_t least, int64_t most);
// Texts that both accept.
CharAutomaton both(const CharAutomaton& a, const CharAutomaton& b, std::string_view on);
bool accepts(const CharAutomaton& automaton, std::u32string_view text);

}  // namespace tandem::constraint
