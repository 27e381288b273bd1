#include "engine/constraint/json/schema_rules.h"

#include <map>
#include <utility>

#include "engine/constraint/json/json_values.h"
#include "engine/constraint/json/object_rules.h"
#include "engine/constraint/json/schema_parts.h"
#include "engine/constraint/text/text_pieces.h"

namespace tandem::constraint {
namespace {

constexpr int64_t kMostSchemaRules = 10'000;

// Makes one rule for each conjunction of schemas that is met. Equal conjunctions share a rule, so recursion ends.
class SchemaCompiler {
 public:
  explicit SchemaCompiler(const Json& root) : parts_(root) {}

  // Rules are filled one after another, and not by recursion, so a deep schema needs no deep stack.
  RuleNet compile(const Json& root) {
    rule_of({{&root, Part::Mode::whole, "#"}});
    while (!open_.empty()) {
      const auto [parts, rule] = std::move(open_.back());
      open_.pop_back();
      fill(parts, rule);
    }
    return std::move(net_);
  }

 private:
  // The place in the schema is the rule's name, which errors show.
  RuleId rule_of(const Parts& parts) {
    std::vector<std::pair<const Json*, Part::Mode>> key;
    for (const Part& part : parts) key.emplace_back(part.schema, part.mode);
    const auto [found, is_new] = rules_.emplace(std::move(key), -1);
    if (!is_new) return found->second;
    if (net_.rules() >= kMostSchemaRules)
      refuse_schema("it has too many combinations", SchemaParts::place_of(parts),
                    "Write fewer alternatives (anyOf, oneOf) beside each other");
    found->second = net_.add_rule(SchemaParts::place_of(parts));
    open_.emplace_back(parts, found->second);
    return found->second;
  }

  // A rule either calls one rule for each alternative, or it is a leaf whose facts become edges.
  void fill(const Parts& parts, RuleId rule) {
    const StateId from = net_.start(rule), to = net_.end(rule);
    const SchemaParts::Meaning meaning = parts_.meaning_of(parts);
    if (meaning.is_impossible) return;
    if (meaning.groups.empty()) return fill_leaf(parts, meaning.facts, from, to);
    const std::vector<Parts> all = parts_.alternatives(meaning);
    // "Exactly one of" can be written only if no value satisfies two alternatives.
    if (meaning.groups[0].mode == Part::Mode::one_of) require_disjoint(all, meaning.groups[0].at);
    for (const Parts& one : all) net_.add_call(from, rule_of(one), to);
  }

  void require_disjoint(const std::vector<Parts>& all, const std::string& at) {
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = i + 1; j < all.size(); ++j)
        if (!parts_.excludes(all[i], all[j]))
          refuse_schema("a value may satisfy the alternatives " + std::to_string(i) + " and " + std::to_string(j) +
                            " of oneOf at once",
                        at + "/oneOf", "Write anyOf, or a member with another const in each");
  }

  // A list of values is written out. Otherwise each type that is left adds its own ways.
  void fill_leaf(const Parts& parts, const Facts& facts, StateId from, StateId to) {
    if (facts.values) {
      for (const Json* value : parts_.accepted_values(facts)) values_.add_value(from, *value, to);
      return;
    }
    if (facts.types & kNull) net_.add_text(from, "null", to);
    if (facts.types & kBoolean)
      for (const char* word : {"true", "false"}) net_.add_text(from, word, to);
    if (facts.types & kString) add_string(facts, from, to);
    if (facts.types & (kInteger | kFraction)) add_numbers(facts, from, to);
    if (facts.types & kArray) add_array(facts, from, to);
    if (facts.types & kObject) add_members(parts, facts, from, to);
  }

  // Patterns and lengths together are one automaton. Lengths alone are counted by the rules for strings.
  void add_string(const Facts& facts, StateId from, StateId to) {
    const auto& length = facts.characters;
    if (length.most >= 0 && length.most < length.least) return;
    if (const auto automaton = string_automaton(facts)) return values_.strings().add_accepted(from, *automaton, to);
    if (!length.is_given()) return values_.strings().add_any(from, to);
    values_.strings().add_of_length(from, length.least, length.most, to);
  }

  void add_numbers(const Facts& facts, StateId from, StateId to) {
    const bool is_integer = !(facts.types & kFraction);
    if (!facts.numbers.is_given()) return values_.add_any_number(from, is_integer, to);
    add_number(net_, from, facts.numbers, is_integer, to);
  }

  // A chain of states counts items as far as their number matters, and a loop stands for all further items.
  void add_array(const Facts& facts, StateId from, StateId to) {
    if (facts.arrays.empty() && !facts.items.is_given()) return values_.add_any_array(from, to);
    const auto [least, most] = facts.items;
    if (most >= 0 && most < least) return;
    const auto prefix = static_cast<int64_t>(SchemaParts::prefix_length(facts));
    const int64_t told_apart = std::max(prefix, std::max(least, most));  // items whose number matters
    StateId state = net_.add_state();
    values_.add_before_blank(from, '[', state);
    for (int64_t i = 0;; ++i) {
      if (i >= least) values_.add_after_blank(state, ']', to);
      if (most >= 0 && i >= most) return;
      const bool is_loop = most < 0 && i > told_apart;
      const StateId item = net_.add_state(), behind = is_loop ? state : net_.add_state();
      i == 0 ? net_.add_nothing(state, item) : values_.add_before_blank(state, ',', item);
      net_.add_call(item, rule_of(SchemaParts::item(facts, static_cast<size_t>(std::min(i, prefix)))), behind);
      if (is_loop) return;
      state = behind;
    }
  }

  // Members come in the order of the schema. A schema that says nothing of members allows any object.
  void add_members(const Parts& parts, const Facts& facts, StateId from, StateId to) {
    if (facts.objects.empty() && facts.required.empty() && !facts.members.is_given())
      return values_.add_any_object(from, to);
    ObjectMembers object;
    object.count = facts.members;
    for (const std::string& name : SchemaParts::member_names(facts)) {
      object.members.push_back({name, facts.required_names.contains(name), rule_of(parts_.member(facts, name))});
    }
    const Parts other = SchemaParts::other_members(facts);
    if (!parts_.meaning_of(other).is_impossible) object.other = rule_of(other);
    // Other members may have one name twice, which a reader counts once.
    if (object.other >= 0 && object.count.least > std::ssize(facts.required))
      refuse_schema("minProperties cannot be counted where other members are allowed", SchemaParts::place_of(parts),
                    "Write additionalProperties: false, or list the names in required");
    if (object.count.least <= std::ssize(facts.required)) object.count.least = 0;
    add_object(values_, from, object, to);
  }

  SchemaParts parts_;
  RuleNet net_;
  JsonValues values_{net_};
  std::map<std::vector<std::pair<const Json*, Part::Mode>>, RuleId> rules_;
  std::vector<std::pair<Parts, RuleId>> open_;
};

}  // namespace

RuleNet schema_rules(std::string_view schema, const std::string& on) {
  const Json root = parse_schema(schema, on);
  if (!root.is_object() && !root.is_boolean()) refuse_schema("a schema is an object, true or false", on);
  return SchemaCompiler(root).compile(root);
}

RuleNet any_object_rules() {
  RuleNet net;
  const RuleId root = net.add_rule("object");
  JsonValues values(net);
  values.add_any_object(net.start(root), net.end(root));
  return net;
}

}  // namespace tandem::constraint
