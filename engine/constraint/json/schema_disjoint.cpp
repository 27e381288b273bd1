// Whether no value can satisfy two schemas at once: then "exactly one of" is "one of".
#include <algorithm>

#include "engine/constraint/json/schema_parts.h"

namespace tandem::constraint {
namespace {

// Deeper schemas count as not disjoint, which is the safe answer: the compiler refuses them.
constexpr int kDeepest = 8;

bool ends_nowhere(const CharAutomaton& automaton) {
  return std::ranges::none_of(automaton.states, [](const auto& state) { return state.is_end; });
}

}  // namespace

// Two schemas exclude each other if their conjunction has no value.
bool SchemaParts::excludes(const Parts& a, const Parts& b) {
  Parts together = a;
  together.insert(together.end(), b.begin(), b.end());
  return is_empty(tidied(std::move(together)), 0);
}

bool SchemaParts::is_empty(const Parts& parts, int depth) {
  if (depth > kDeepest) return false;
  const Meaning meaning = meaning_of(parts);
  if (meaning.is_impossible) return true;
  if (meaning.groups.empty()) return is_empty(meaning.facts, depth);
  return std::ranges::all_of(alternatives(meaning), [&](const Parts& one) { return is_empty(one, depth + 1); });
}

// Each type that is left must be ruled out by something else.
bool SchemaParts::is_empty(const Facts& facts, int depth) {
  if (facts.values) return accepted_values(facts).empty();
  if (facts.types & (kNull | kBoolean)) return false;
  if (facts.types & (kInteger | kFraction) && !facts.numbers.is_empty()) return false;
  // A string type is empty only by its pattern and lengths together.
  if (facts.types & kString && !facts.characters.is_empty()) {
    const auto automaton = string_automaton(facts);
    if (!automaton || !ends_nowhere(*automaton)) return false;
  }
  if (facts.types & kArray && !facts.items.is_empty()) {
    const auto told_apart = std::min(facts.items.least, static_cast<int64_t>(prefix_length(facts)) + 1);
    bool has_empty = false;
    for (int64_t i = 0; i < told_apart && !has_empty; ++i)
      has_empty = is_empty(item(facts, static_cast<size_t>(i)), depth + 1);
    if (!has_empty) return false;
  }
  // An object is impossible if one of its required members is.
  if (!(facts.types & kObject) || facts.members.is_empty()) return true;
  return std::ranges::any_of(facts.required,
                             [&](const std::string& name) { return is_empty(member(facts, name), depth + 1); });
}

}  // namespace tandem::constraint
