// Schemas that hold together, and what they mean: $ref, allOf, anyOf and oneOf are resolved here.
//
// Contract: borrows the schema's root. Not thread-safe. Error: as add_facts(); references in a circle; more than
// kMostParts parts.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/constraint/json/schema_facts.h"

namespace tandem::constraint {

inline constexpr int64_t kMostParts = 200'000;

// A part of a conjunction: a schema, or only some of its keywords.
struct Part {
  enum class Mode : uint8_t { whole, own, any_of, one_of };
  const Json* schema = nullptr;
  Mode mode = Mode::whole;
  std::string at{};
  friend bool operator==(const Part& a, const Part& b) { return a.schema == b.schema && a.mode == b.mode; }
  friend auto operator<=>(const Part& a, const Part& b) {
    return std::pair(a.schema, a.mode) <=> std::pair(b.schema, b.mode);
  }
};
using Parts = std::vector<Part>;  // that hold together; none: anything

class SchemaParts {
 public:
  explicit SchemaParts(const Json& root) : root_(root) {}

  struct Meaning {
    bool is_impossible = false;
    Facts facts;        // of all parts, without the groups
    Parts own, groups;  // whose alternatives are still open
  };
  Meaning meaning_of(const Parts& parts);
  // For the first group of a meaning: the conjunctions for its alternatives.
  std::vector<Parts> alternatives(const Meaning& meaning);
  static std::string place_of(const Parts& parts) { return parts.empty() ? "true" : parts[0].at; }

  // The schemas of an item, or of a member of an object.
  static Parts item(const Facts& facts, size_t index);
  Parts member(const Facts& facts, const std::string& name);
  static Parts other_members(const Facts& facts);
  static size_t prefix_length(const Facts& facts);
  // The names of members: those of the schemas in their order, then required ones that no schema names.
  static std::vector<std::string> member_names(const Facts& facts);

  // Whether a value satisfies the parts.
  bool accepts(const Parts& parts, const Json& value);
  // The values of enum and const that the other facts accept.
  std::vector<const Json*> accepted_values(const Facts& facts);
  // Whether no value satisfies both. False if that is not seen.
  bool excludes(const Parts& a, const Parts& b);

 private:
  using Schemas = std::unordered_set<const Json*>;
  void expand(const Part& part, Meaning& meaning, Schemas& open, Schemas& done);
  bool accepts_facts(const Facts& facts, const CharAutomaton* strings, const Json& value);
  bool accepts_array(const Facts& facts, const Json& value);
  bool accepts_object(const Facts& facts, const Json& value);
  bool is_empty(const Parts& parts, int depth);
  bool is_empty(const Facts& facts, int depth);
  static Parts tidied(Parts parts);
  void spend(int64_t parts = 1);
  const Json& root_;
  int64_t spent_ = 0;  // a measure of the work so far
};

}  // namespace tandem::constraint
