// Whether a given value satisfies a schema: for the values of enum and const beside other keywords.
#include <algorithm>

#include "engine/constraint/json/schema_parts.h"

namespace tandem::constraint {

// The facts must accept the value, and of each group enough alternatives: one or more for anyOf, exactly one for oneOf.
bool SchemaParts::accepts(const Parts& parts, const Json& value) {
  const Meaning meaning = meaning_of(parts);
  if (meaning.is_impossible) return false;
  const auto is_value = [text = canonical_text(value)](const Json* one) { return canonical_text(*one) == text; };
  if (meaning.facts.values && std::ranges::none_of(*meaning.facts.values, is_value)) return false;
  const auto strings = value.is_string() ? string_automaton(meaning.facts) : std::nullopt;
  if (!accepts_facts(meaning.facts, strings ? &*strings : nullptr, value)) return false;
  return std::ranges::all_of(meaning.groups, [&](const Part& group) {
    Meaning only;
    only.groups = {group};
    const std::vector<Parts> all = alternatives(only);
    const auto holding = std::ranges::count_if(all, [&](const Parts& one) { return accepts(one, value); });
    return group.mode == Part::Mode::any_of ? holding > 0 : holding == 1;
  });
}

// The automaton of the strings is made once for all values.
std::vector<const Json*> SchemaParts::accepted_values(const Facts& facts) {
  const auto strings = string_automaton(facts);
  std::vector<const Json*> accepted;
  for (const Json* value : *facts.values)
    if (accepts_facts(facts, strings ? &*strings : nullptr, *value)) accepted.push_back(value);
  return accepted;
}

// strings: of the facts; null: no pattern is given. enum and const are left out.
bool SchemaParts::accepts_facts(const Facts& facts, const CharAutomaton* strings, const Json& value) {
  const uint8_t type = type_of(value);
  const uint8_t as = type == kInteger ? kInteger | kFraction : type;  // an integer is a number, too
  if (!(facts.types & as)) return false;
  if (type == kString) {
    const auto text = characters_of(value.get_ref<const std::string&>());
    if (!text || !facts.characters.has(std::ssize(*text))) return false;
    return !strings || constraint::accepts(*strings, *text);
  }
  if (value.is_number()) return facts.numbers.has(read_decimal(value.dump()));
  if (type == kArray) return accepts_array(facts, value);
  return type != kObject || accepts_object(facts, value);
}

bool SchemaParts::accepts_array(const Facts& facts, const Json& value) {
  if (!facts.items.has(std::ssize(value))) return false;
  for (size_t i = 0; i < value.size(); ++i)
    if (!accepts(item(facts, i), value[i])) return false;
  return true;
}

bool SchemaParts::accepts_object(const Facts& facts, const Json& value) {
  const auto has = [&](const std::string& name) { return value.contains(name); };
  if (!facts.members.has(std::ssize(value)) || !std::ranges::all_of(facts.required, has)) return false;
  return std::ranges::all_of(value.items(),
                             [&](const auto& one) { return accepts(member(facts, one.key()), one.value()); });
}

}  // namespace tandem::constraint
