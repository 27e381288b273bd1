#include "engine/constraint/json/schema_parts.h"

#include <algorithm>
#include <set>

#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem::constraint {
namespace {

// The schemas of a keyword's list.
Parts list_of(const Json& schema, const char* key, const std::string& at) {
  const Json& list = schema.at(key);
  const std::string list_at = at + "/" + key;
  if (!list.is_array() || list.empty()) refuse_schema("a list of schemas is expected", list_at);
  Parts parts;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string part_at = list_at + "/" + std::to_string(i);
    if (!list[i].is_object() && !list[i].is_boolean()) refuse_schema("a schema is an object, true or false", part_at);
    parts.push_back({&list[i], Part::Mode::whole, part_at});
  }
  return parts;
}

// A long list of values costs work at each visit, so it is paid for like parts.
constexpr int64_t kValuesOfPart = 8;  // so many values of enum count as one part
constexpr int64_t kShapesOfPart = 8;  // so many schemas that are asked for a member's name count as one part

void add(Parts& parts, const std::optional<Place>& place) {
  if (place) parts.push_back({place->schema, Part::Mode::whole, place->at});
}

}  // namespace

// Sorted, each once.
Parts SchemaParts::tidied(Parts parts) {
  std::ranges::sort(parts);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

// Each visit of a part is paid for. Alternatives within alternatives multiply, and the limit ends them with an error.
void SchemaParts::spend(int64_t parts) {
  if (stop_is_asked()) throw Interrupted();
  spent_ += parts;
  if (spent_ > kMostParts)
    refuse_schema("it has too many combinations", "#", "Write fewer alternatives (anyOf, oneOf) beside each other");
}

// $ref and allOf are followed at once. A schema that is met again while it is followed would never come to an end.
// `open` has the schemas on the present way and `done` those that were expanded before, for one meaning.
void SchemaParts::expand(const Part& part, Meaning& meaning, Schemas& open, Schemas& done) {
  spend();
  const Json& schema = *part.schema;
  if (schema.is_boolean()) {
    meaning.is_impossible = meaning.is_impossible || !schema.get<bool>();
    return;
  }
  if (!schema.is_object()) refuse_schema("a schema is an object, true or false", part.at);
  // A group of alternatives stays as it is here. alternatives() multiplies it out when the meaning is used.
  if (part.mode == Part::Mode::any_of || part.mode == Part::Mode::one_of) {
    meaning.groups.push_back(part);
    return;
  }
  if (part.mode == Part::Mode::whole) {
    if (open.contains(&schema)) refuse_schema("its references go in a circle without reading anything", part.at);
    if (done.contains(&schema)) return;
    open.insert(&schema);
    if (const auto ref = schema.find("$ref"); ref != schema.end()) {
      if (!ref->is_string()) refuse_schema("a text is expected", part.at + "/$ref");
      const std::string name = ref->get<std::string>();
      expand({&resolve(root_, name, part.at + "/$ref"), Part::Mode::whole, name}, meaning, open, done);
    }
    if (schema.contains("allOf"))
      for (const Part& one : list_of(schema, "allOf", part.at)) expand(one, meaning, open, done);
    if (schema.contains("anyOf")) meaning.groups.push_back({&schema, Part::Mode::any_of, part.at});
    if (schema.contains("oneOf")) meaning.groups.push_back({&schema, Part::Mode::one_of, part.at});
    open.erase(&schema);
    done.insert(&schema);
  }
  meaning.own.push_back({&schema, Part::Mode::own, part.at});
}

// A meaning is the facts of all parts that hold, and the groups of which one alternative each must hold as well.
SchemaParts::Meaning SchemaParts::meaning_of(const Parts& parts) {
  Meaning meaning;
  Schemas open, done;
  for (const Part& part : parts) expand(part, meaning, open, done);
  std::set<const Json*> seen;
  for (const Part& part : meaning.own) {
    if (!seen.insert(part.schema).second) continue;
    if (const auto values = part.schema->find("enum"); values != part.schema->end())
      spend(std::ssize(*values) / kValuesOfPart);
    add_facts({part.schema, part.at}, meaning.facts);
  }
  meaning.own = tidied(std::move(meaning.own));
  meaning.groups = tidied(std::move(meaning.groups));
  return meaning;
}

// Each alternative of the first group makes a conjunction with the rest. The other groups wait for their turn in it.
std::vector<Parts> SchemaParts::alternatives(const Meaning& meaning) {
  const Part& group = meaning.groups[0];
  std::vector<Parts> all;
  for (const Part& one : list_of(*group.schema, group.mode == Part::Mode::any_of ? "anyOf" : "oneOf", group.at)) {
    spend();
    Parts parts = meaning.own;
    parts.insert(parts.end(), meaning.groups.begin() + 1, meaning.groups.end());
    parts.push_back(one);
    all.push_back(tidied(std::move(parts)));
  }
  return all;
}

size_t SchemaParts::prefix_length(const Facts& facts) {
  size_t most = 0;
  for (const auto& shape : facts.arrays) most = std::max(most, shape.prefix.size());
  return most;
}

// An item has the schemas of each array shape: that of its place in the prefix, or that of the rest.
Parts SchemaParts::item(const Facts& facts, size_t index) {
  Parts parts;
  for (const auto& shape : facts.arrays)
    add(parts, index < shape.prefix.size() ? std::optional(shape.prefix[index]) : shape.rest);
  return tidied(std::move(parts));
}

// A member has the schemas of each object shape: its own by name, or that of the others.
Parts SchemaParts::member(const Facts& facts, const std::string& name) {
  spend(std::ssize(facts.objects) / kShapesOfPart);
  Parts parts;
  for (const auto& shape : facts.objects) {
    const auto found = shape.numbers.find(name);
    add(parts, found != shape.numbers.end() ? std::optional(shape.members[found->second].second) : shape.rest);
  }
  return tidied(std::move(parts));
}

Parts SchemaParts::other_members(const Facts& facts) {
  Parts parts;
  for (const auto& shape : facts.objects) add(parts, shape.rest);
  return tidied(std::move(parts));
}

std::vector<std::string> SchemaParts::member_names(const Facts& facts) {
  std::vector<std::string> names;
  std::set<std::string> known;
  const auto add_name = [&](const std::string& name) {
    if (known.insert(name).second) names.push_back(name);
  };
  for (const auto& shape : facts.objects)
    for (const auto& [name, place] : shape.members) add_name(name);
  for (const std::string& name : facts.required) add_name(name);
  return names;
}

}  // namespace tandem::constraint
