// Facts about a value, by the keywords of a schema. Each kind of value has its own. Schemas that hold together are one
// set of facts.
//
// Contract: plain data. Error: a keyword is unknown, or its value is none that it may have; it names the place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/constraint/json/number_text.h"
#include "engine/constraint/json/schema_text.h"
#include "engine/constraint/text/char_automaton.h"

namespace tandem::constraint {

enum TypeBits : uint8_t {
  kNull = 1,
  kBoolean = 2,
  kString = 4,
  kInteger = 8,
  kFraction = 16,  // a number, perhaps with a fraction
  kArray = 32,
  kObject = 64,
  kAllTypes = 127
};

// A schema and its place, "#/properties/a".
struct Place {
  const Json* schema = nullptr;
  std::string at{};
};

struct Facts {
  uint8_t types = kAllTypes;
  std::optional<std::vector<const Json*>> values;  // enum, const
  struct Range {
    int64_t least = 0, most = -1;  // most < 0: no end
    void raise(int64_t value) { least = std::max(least, value); }
    void lower(int64_t value) { most = most < 0 ? value : std::min(most, value); }
    bool has(int64_t value) const { return value >= least && (most < 0 || value <= most); }
    bool is_given() const { return least > 0 || most >= 0; }
    bool is_empty() const { return most >= 0 && most < least; }
  };
  Range characters, items, members;
  std::vector<std::pair<std::string, std::string>> patterns;  // and their places
  Bounds numbers;
  struct ArrayShape {
    std::vector<Place> prefix;
    std::optional<Place> rest;
  };
  std::vector<ArrayShape> arrays;
  struct ObjectShape {
    std::vector<std::pair<std::string, Place>> members;
    std::unordered_map<std::string, size_t> numbers;  // of members, by their names
    std::optional<Place> rest;
  };
  std::vector<ObjectShape> objects;
  std::vector<std::string> required;  // each once
  std::unordered_set<std::string> required_names;
};

// Adds what a schema's own keywords say; $ref, allOf, anyOf and oneOf are left to SchemaParts.
void add_facts(const Place& place, Facts& facts);
uint8_t type_of(const Json& value);  // of kInteger and kFraction the narrower one
// Equal for values that JSON schema counts as equal: 1 is 1.0, and keys have no order.
std::string canonical_text(const Json& value);
// The strings of the patterns and lengths; nothing: no pattern is given.
std::optional<CharAutomaton> string_automaton(const Facts& facts);

}  // namespace tandem::constraint
