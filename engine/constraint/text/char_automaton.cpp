// Automata over characters, which patterns of a schema become. A pattern and a length together are the product of
// two automata.
#include "engine/constraint/text/char_automaton.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem::constraint {

int64_t CharAutomaton::edges() const {
  int64_t count = 0;
  for (const State& state : states) count += std::ssize(state.steps);
  return count;
}

namespace {

// All limits have one message, since a user can only make the pattern smaller.
[[noreturn]] void refuse_pattern(std::string_view on) {
  throw Error("a pattern is too large", std::string(on), "Make its repetitions, or the string's lengths, smaller");
}

}  // namespace

void CharAutomaton::check(std::string_view on) const {
  if (std::ssize(states) > kMostPatternStates || edges() > kMostPatternEdges) refuse_pattern(on);
}

// A chain of states counts characters. Without an upper bound its last state has a loop.
CharAutomaton of_length(int64_t least, int64_t most) {
  CharAutomaton chain;
  const int64_t last = most < 0 ? least : most;
  if (last > kMostPatternStates)
    throw Error("a string is too long to be checked against its pattern", std::to_string(last) + " characters",
                "Ask for at most " + std::to_string(kMostPatternStates));
  chain.states.resize(static_cast<size_t>(last) + 1);
  for (int64_t i = 0; i <= last; ++i) {
    CharAutomaton::State& state = chain.states[static_cast<size_t>(i)];
    state.is_end = i >= least;
    if (i < last) state.steps.push_back({CharacterSet::all(), static_cast<int32_t>(i + 1)});
  }
  if (most < 0) chain.states.back().steps.push_back({CharacterSet::all(), static_cast<int32_t>(last)});
  return chain;
}

// The product: pairs of states that both can be in. Only pairs that are reached exist.
CharAutomaton both(const CharAutomaton& a, const CharAutomaton& b, std::string_view on) {
  CharAutomaton product;
  std::map<std::pair<int32_t, int32_t>, int32_t> number{{{0, 0}, 0}};
  std::vector<std::pair<int32_t, int32_t>> pairs{{0, 0}};
  int64_t edges = 0, ranges = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (stop_is_asked()) throw Interrupted();
    const auto [of_a, of_b] = pairs[i];
    const CharAutomaton::State &left = a.states[static_cast<size_t>(of_a)],
                               &right = b.states[static_cast<size_t>(of_b)];
    product.states[i].is_end = left.is_end && right.is_end;
    for (const auto& one : left.steps)
      for (const auto& other : right.steps) {
        ranges += std::ssize(one.set.ranges()) + std::ssize(other.set.ranges());
        if (ranges > kMostPatternWork) refuse_pattern(on);
        CharacterSet common = one.set.common_with(other.set);
        if (common.empty()) continue;
        const auto [found, is_new] =
            number.emplace(std::pair(one.to, other.to), static_cast<int32_t>(product.states.size()));
        if (is_new) {
          product.states.emplace_back();
          pairs.emplace_back(one.to, other.to);
        }
        product.states[i].steps.push_back({std::move(common), found->second});
        // The limits are checked on the way, before a product fills the memory.
        if (++edges > kMostPatternEdges) product.check(on);
      }
    if (std::ssize(product.states) > kMostPatternStates) product.check(on);
  }
  return product;
}

// All states that the text may be in are followed together, so nothing is tried twice.
bool accepts(const CharAutomaton& automaton, std::u32string_view text) {
  std::set<int32_t> here{0};
  for (const char32_t code : text) {
    std::set<int32_t> next;
    for (const int32_t state : here)
      for (const auto& step : automaton.states[static_cast<size_t>(state)].steps)
        if (step.set.has(code)) next.insert(step.to);
    here = std::move(next);
  }
  return std::ranges::any_of(here, [&](int32_t state) { return automaton.states[static_cast<size_t>(state)].is_end; });
}

}  // namespace tandem::constraint
