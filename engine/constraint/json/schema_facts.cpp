#include "engine/constraint/json/schema_facts.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_set>

#include "engine/constraint/json/formats.h"
#include "engine/constraint/text/pattern.h"

namespace tandem::constraint {
namespace {

// Larger counts say nothing that a text could reach.
constexpr int64_t kMostCount = 1'000'000'000;

std::string child(const std::string& at, const std::string& key) { return at + "/" + pointer_part(key); }

// A schema is also true or false: anything, or nothing.
const Json& schema_at(const Json& value, const std::string& at) {
  if (!value.is_object() && !value.is_boolean()) refuse_schema("a schema is an object, true or false", at);
  return value;
}

// "number" has both whole numbers and fractions. So "integer" beside it leaves whole numbers.
uint8_t type_named(const Json& name, const std::string& at) {
  static const std::map<std::string, uint8_t> kTypes = {{"null", kNull},
                                                        {"boolean", kBoolean},
                                                        {"string", kString},
                                                        {"integer", kInteger},
                                                        {"number", kInteger | kFraction},
                                                        {"array", kArray},
                                                        {"object", kObject}};
  const auto found = name.is_string() ? kTypes.find(name.get<std::string>()) : kTypes.end();
  if (found == kTypes.end())
    refuse_schema("an unknown type " + name.dump(-1, ' ', false, Json::error_handler_t::replace), at);
  return found->second;
}

// A count may be written as 3.0 or 3e0, which JSON Schema takes for 3.
int64_t count_of(const Json& value, const std::string& at) {
  const bool is_whole = value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1e18 &&
                        value.get<double>() == static_cast<double>(static_cast<int64_t>(value.get<double>()));
  if (!is_whole) refuse_schema("a whole number from 0 on is expected", at);
  return std::min(kMostCount, static_cast<int64_t>(value.get<double>()));
}

// A bound is read from the digits of its text, so that it stays exact.
Decimal number_of(const Json& value, const std::string& at) {
  if (!value.is_number()) refuse_schema("a number is expected", at);
  return read_decimal(value.dump());
}

const std::string& text_of(const Json& value, const std::string& at) {
  if (!value.is_string()) refuse_schema("a text is expected", at);
  return value.get_ref<const std::string&>();
}

// Several lists of values hold together: only values of both lists stay.
void keep_values(Facts& facts, const std::vector<const Json*>& values) {
  if (!facts.values) {
    facts.values = values;
    return;
  }
  std::unordered_set<std::string> both;
  for (const Json* value : values) both.insert(canonical_text(*value));
  std::erase_if(*facts.values, [&](const Json* one) { return !both.contains(canonical_text(*one)); });
}

// What one keyword does. A keyword about one kind of value says nothing about others.
using Keyword = std::function<void(const Json& value, const std::string& at, Facts& facts)>;

// A list of types means any of them. Several keywords leave what all of them allow.
void read_types(const Json& value, const std::string& at, Facts& facts) {
  uint8_t types = 0;
  if (value.is_array() && !value.empty())
    for (const Json& one : value) types |= type_named(one, at);
  else
    types = type_named(value, at);
  facts.types &= types;
}

void read_enum(const Json& value, const std::string& at, Facts& facts) {
  if (!value.is_array()) refuse_schema("a list of values is expected", at);
  std::vector<const Json*> values;
  for (const Json& one : value) values.push_back(&one);
  keep_values(facts, values);
}

// Names keep the order of their first mention.
void read_required(const Json& value, const std::string& at, Facts& facts) {
  if (!value.is_array()) refuse_schema("a list of names is expected", at);
  for (const Json& name : value)
    if (facts.required_names.insert(text_of(name, at)).second) facts.required.push_back(text_of(name, at));
}

// A format is a pattern like any other, so both may stand together.
void read_format(const Json& value, const std::string& at, Facts& facts) {
  const auto pattern = pattern_of_format(text_of(value, at));
  if (!pattern)
    refuse_schema("the format \"" + value.get<std::string>() + "\" is not known", at,
                  "Known are date, time, date-time, uuid and email; leave format out, or write a pattern");
  facts.patterns.emplace_back(*pattern, at);
}

Keyword ignored() {
  return [](const Json&, const std::string&, Facts&) {};
}

Keyword for_others() { return ignored(); }  // read by SchemaParts, or as part of another keyword

// A keyword that restricts nothing while it is false may stand in a schema. Any other value of it is refused.
Keyword only_if_false(const char* name) {
  return [name](const Json& value, const std::string& at, Facts&) {
    if (value != Json(false)) refuse_schema("the keyword \"" + std::string(name) + "\" is not known", at);
  };
}

// In a part of a document it would be what the part's references are relative to.
void read_id(const Json&, const std::string& at, Facts&) {
  if (at != "#/$id") refuse_schema("the keyword \"$id\" is known only in the whole document", at);
}

// Annotations change nothing. An anchor is one, because references to it are refused. Everything else that is not in
// this table is refused.
const std::map<std::string, Keyword, std::less<>>& keywords() {
  static const std::map<std::string, Keyword, std::less<>> table = {
      {"title", ignored()},
      {"description", ignored()},
      {"default", ignored()},
      {"examples", ignored()},
      {"$schema", ignored()},
      {"$anchor", ignored()},
      {"$id", read_id},
      {"$comment", ignored()},
      {"deprecated", ignored()},
      {"readOnly", ignored()},
      {"writeOnly", ignored()},
      {"contentEncoding", ignored()},
      {"contentMediaType", ignored()},
      {"contentSchema", ignored()},
      {"$defs", ignored()},
      {"definitions", ignored()},
      {"$ref", for_others()},
      {"allOf", for_others()},
      {"anyOf", for_others()},
      {"oneOf", for_others()},
      {"properties", for_others()},
      {"additionalProperties", for_others()},
      {"prefixItems", for_others()},
      {"items", for_others()},
      {"uniqueItems", only_if_false("uniqueItems")},
      {"type", read_types},
      {"enum", read_enum},
      {"required", read_required},
      {"format", read_format},
      {"const", [](const Json& v, const std::string&, Facts& f) { keep_values(f, {&v}); }},
      {"minLength", [](const Json& v, const std::string& at, Facts& f) { f.characters.raise(count_of(v, at)); }},
      {"maxLength", [](const Json& v, const std::string& at, Facts& f) { f.characters.lower(count_of(v, at)); }},
      {"minItems", [](const Json& v, const std::string& at, Facts& f) { f.items.raise(count_of(v, at)); }},
      {"maxItems", [](const Json& v, const std::string& at, Facts& f) { f.items.lower(count_of(v, at)); }},
      {"minProperties", [](const Json& v, const std::string& at, Facts& f) { f.members.raise(count_of(v, at)); }},
      {"maxProperties", [](const Json& v, const std::string& at, Facts& f) { f.members.lower(count_of(v, at)); }},
      {"minimum", [](const Json& v, const std::string& at, Facts& f) { f.numbers.raise(number_of(v, at), false); }},
      {"maximum", [](const Json& v, const std::string& at, Facts& f) { f.numbers.lower(number_of(v, at), false); }},
      {"exclusiveMinimum",
       [](const Json& v, const std::string& at, Facts& f) { f.numbers.raise(number_of(v, at), true); }},
      {"exclusiveMaximum",
       [](const Json& v, const std::string& at, Facts& f) { f.numbers.lower(number_of(v, at), true); }},
      {"pattern", [](const Json& v, const std::string& at, Facts& f) { f.patterns.emplace_back(text_of(v, at), at); }},
  };
  return table;
}

// prefixItems gives a schema for each of the first items, and items one for all further.
void add_array_shape(const Place& place, Facts& facts) {
  const Json& schema = *place.schema;
  if (!schema.contains("items") && !schema.contains("prefixItems")) return;
  Facts::ArrayShape shape;
  if (const auto prefix = schema.find("prefixItems"); prefix != schema.end()) {
    const std::string at = child(place.at, "prefixItems");
    if (!prefix->is_array()) refuse_schema("a list of schemas is expected", at);
    for (size_t i = 0; i < prefix->size(); ++i) {
      const std::string item_at = child(at, std::to_string(i));
      shape.prefix.push_back({&schema_at((*prefix)[i], item_at), item_at});
    }
  }
  if (const auto items = schema.find("items"); items != schema.end()) {
    const std::string at = child(place.at, "items");
    if (items->is_array())
      refuse_schema("items is a list", at, "Write prefixItems for the first items, and items for the others");
    shape.rest = Place{&schema_at(*items, at), at};
  }
  facts.arrays.push_back(std::move(shape));
}

// The order of members is that of the schema's text, which the grammar asks of the model.
void add_object_shape(const Place& place, Facts& facts) {
  const Json& schema = *place.schema;
  if (!schema.contains("properties") && !schema.contains("additionalProperties")) return;
  Facts::ObjectShape shape;
  if (const auto members = schema.find("properties"); members != schema.end()) {
    const std::string at = child(place.at, "properties");
    if (!members->is_object()) refuse_schema("an object of schemas is expected", at);
    for (const auto& [name, member] : members->items()) {
      const std::string member_at = child(at, name);
      shape.numbers.emplace(name, shape.members.size());
      shape.members.emplace_back(name, Place{&schema_at(member, member_at), member_at});
    }
  }
  if (const auto rest = schema.find("additionalProperties"); rest != schema.end()) {
    const std::string at = child(place.at, "additionalProperties");
    shape.rest = Place{&schema_at(*rest, at), at};
  }
  facts.objects.push_back(std::move(shape));
}

}  // namespace

// A keyword is read by the table, and an unknown one is an error: a constraint that is only half kept would be worse.
void add_facts(const Place& place, Facts& facts) {
  for (const auto& [key, value] : place.schema->items()) {
    const auto found = keywords().find(key);
    if (found == keywords().end()) refuse_schema("the keyword \"" + key + "\" is not known", child(place.at, key));
    found->second(value, child(place.at, key), facts);
  }
  add_array_shape(place, facts);
  add_object_shape(place, facts);
}

// The type by the value: 1.0 is an integer, as JSON Schema has it.
uint8_t type_of(const Json& value) {
  if (value.is_null()) return kNull;
  if (value.is_boolean()) return kBoolean;
  if (value.is_string()) return kString;
  if (value.is_array()) return kArray;
  if (value.is_object()) return kObject;
  return read_decimal(value.dump()).is_whole() ? kInteger : kFraction;
}

// Numbers are written by their value and keys in order, so equal values have equal texts.
std::string canonical_text(const Json& value) {
  if (value.is_number()) return read_decimal(value.dump()).text();
  if (!value.is_structured()) return value.dump();
  std::vector<std::string> parts;
  for (const auto& [key, part] : value.items())
    parts.push_back((value.is_object() ? Json(key).dump() + ":" : "") + canonical_text(part));
  if (value.is_object()) std::ranges::sort(parts);
  std::string text(1, value.is_object() ? '{' : '[');
  for (const std::string& part : parts) text += part + ",";
  return text;
}

// Several patterns hold together as the product of their automata. Lengths are one more automaton.
std::optional<CharAutomaton> string_automaton(const Facts& facts) {
  if (facts.patterns.empty()) return std::nullopt;
  std::optional<CharAutomaton> all;
  for (const auto& [pattern, at] : facts.patterns) {
    CharAutomaton one = parse_pattern(pattern, at);
    all = all ? both(*all, one, at) : std::move(one);
  }
  if (facts.characters.is_given())
    all = both(*all, of_length(facts.characters.least, facts.characters.most), facts.patterns[0].second);
  return all;
}

}  // namespace tandem::constraint
