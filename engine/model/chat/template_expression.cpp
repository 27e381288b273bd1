#include "engine/model/chat/template_expression.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sync/parse_number.h"

namespace tandem {
namespace {

using Kind = TemplateToken::Kind;

constexpr int kMostNested = 64;  // depth of parentheses, lists and arguments

}  // namespace

// An inner scope hides the outer ones, so the search begins with the last scope.
TemplateValue TemplateScopes::get(const std::string& name) const {
  for (size_t i = scopes_.size(); i-- > 0;) {
    if (const auto found = scopes_[i].find(name); found != scopes_[i].end()) return found->second;
  }
  return {};
}

// A quoted text is never a mark or a word, whatever its letters are.
bool TemplateExpressions::is_next(std::string_view mark_or_word) const {
  return !at_end() && tokens_[at_].kind != Kind::text && tokens_[at_].text == mark_or_word;
}

bool TemplateExpressions::take(std::string_view mark_or_word) {
  const bool found = is_next(mark_or_word);
  at_ += found ? 1 : 0;
  return found;
}

void TemplateExpressions::require(std::string_view mark_or_word) {
  if (!take(mark_or_word)) throw TemplateRefused("an expression without `" + std::string(mark_or_word) + "`");
}

std::string TemplateExpressions::name() {
  if (at_end() || tokens_[at_].kind != Kind::name) throw TemplateRefused("an expression without a name");
  return tokens_[at_++].text;
}

// `a if condition else b`. Both sides are parsed; an unknown condition makes the result unknown. This is recursive
// descent: each method from here to primary() binds more tightly than the one before it.
TemplateValue TemplateExpressions::next() {
  if (++depth_ > kMostNested) throw TemplateRefused("a deep expression");
  TemplateValue value = either();
  while (take("if")) {
    const TemplateValue condition = either();
    TemplateValue otherwise{};
    if (take("else")) otherwise = next();
    const auto known = truth(condition);
    value = !known ? condition : *known ? value : otherwise;
  }
  --depth_;
  return value;
}

// `a or b`, and below `a and b`: the first value decides, as in Python. An unknown one stays.
TemplateValue TemplateExpressions::either() {
  TemplateValue value = both();
  while (take("or")) {
    TemplateValue other = both();
    const auto known = truth(value);
    if (known && !*known) value = std::move(other);
  }
  return value;
}

TemplateValue TemplateExpressions::both() {
  TemplateValue value = negation();
  while (take("and")) {
    TemplateValue other = negation();
    const auto known = truth(value);
    if (known && *known) value = std::move(other);
  }
  return value;
}

// An even number of `not` makes a truth value of any value.
TemplateValue TemplateExpressions::negation() {
  bool turns = false, any = false;
  for (; take("not"); any = true) turns = !turns;
  const TemplateValue value = comparison();
  if (!any) return value;
  const TemplateValue once = negated(value);
  return turns ? once : negated(once);
}

// One comparison. Jinja allows chains, as Python does; their result is unknown here.
TemplateValue TemplateExpressions::comparison() {
  TemplateValue value = sum();
  // `count` comparisons have been read so far.
  for (int count = 0;; ++count) {
    const size_t begin = at_;
    TemplateValue result;
    if (take("==")) {
      result = equal(value, sum());
    } else if (take("!=")) {
      result = negated(equal(value, sum()));
    } else if (take("in")) {
      result = contains(sum(), value);
    } else if (take("not")) {
      require("in");
      result = negated(contains(sum(), value));
    } else if (is_next("<") || is_next("<=") || is_next(">") || is_next(">=")) {
      const std::string mark = tokens_[at_++].text;
      result = ordered(value, sum(), mark);
    }
    if (at_ == begin) return value;
    value = count == 0 ? result : unknown("a chain of comparisons");
  }
}

TemplateValue TemplateExpressions::sum() {
  TemplateValue value = joined_text();
  while (is_next("+") || is_next("-")) {
    const bool minus = tokens_[at_++].text == "-";
    value = added(value, joined_text(), minus);
  }
  return value;
}

// `a ~ b`: joined as texts.
TemplateValue TemplateExpressions::joined_text() {
  TemplateValue value = product();
  while (take("~")) {
    value = joined(value, product());
  }
  return value;
}

TemplateValue TemplateExpressions::product() {
  TemplateValue value = signed_value();
  while (is_next("*") || is_next("/") || is_next("//") || is_next("%")) {
    const std::string mark = tokens_[at_++].text;
    value = multiplied(value, signed_value(), mark);
  }
  return value;
}

// `-a` is computed as 0 - a. Members and filters behind `a` bind more tightly than the sign.
TemplateValue TemplateExpressions::signed_value() {
  if (!take("-")) return followed(primary());
  return added({int64_t{0}}, followed(primary()), true);
}

// A parenthesis, list, text, number, constant, function or variable. Adjacent texts are joined.
TemplateValue TemplateExpressions::primary() {
  if (take("(")) {
    TemplateValue value = next();
    require(")");
    return value;
  }
  if (take("[")) return list();
  if (at_end() || tokens_[at_].kind == Kind::mark) throw TemplateRefused("an expression that is not built here");
  if (tokens_[at_].kind == Kind::text) {
    std::string text;
    while (!at_end() && tokens_[at_].kind == Kind::text) text += tokens_[at_++].text;
    return {MarkedText(std::move(text))};
  }
  const std::string& word = tokens_[at_++].text;
  // Whole numbers only. A number that does not fit is unknown.
  if (tokens_[at_ - 1].kind == Kind::number) {
    const std::optional<int64_t> number = parse_number<int64_t>(word);
    return number ? TemplateValue{*number} : unknown("the number " + word);
  }
  if (word == "true" || word == "True") return {true};
  if (word == "false" || word == "False") return {false};
  if (word == "none" || word == "None") return {None{}};
  if (is_next("(")) return called({}, word);
  return scopes_.get(word);
}

// A comma may stand before the closing bracket, as in Jinja.
TemplateValue TemplateExpressions::list() {
  auto values = std::make_shared<std::vector<TemplateValue>>();
  while (!take("]")) {
    values->push_back(next());
    if (!is_next("]")) require(",");
  }
  return {std::move(values)};
}

// Members, subscripts, calls, filters and tests after a value, from left to right.
TemplateValue TemplateExpressions::followed(TemplateValue value) {
  for (;;) {
    if (take(".")) {
      const std::string member_name = name();
      value = is_next("(") ? called(value, member_name) : member(value, member_name);
    } else if (take("[")) {
      value = subscript(value);
    } else if (take("|")) {
      value = filtered(value);
    } else if (take("is")) {
      value = tested(value);
    } else if (is_next("(")) {
      arguments();
      value = unknown("a call");
    } else {
      return value;
    }
  }
}

// A missing field is Undefined, as in Jinja. Other values have no fields, so the result is unknown.
TemplateValue TemplateExpressions::member(const TemplateValue& value, const std::string& name) {
  if (value.as<Unknown>()) return value;
  const auto* fields = value.as<TemplateFields>();
  if (!fields) return unknown("`." + name + "` of what has no such part");
  const auto found = (*fields)->find(name);
  return found == (*fields)->end() ? TemplateValue{} : found->second;
}

// `value[index]`, `value['name']`, `value[::-1]`, `value[from:]`. Other slices are unknown.
TemplateValue TemplateExpressions::subscript(const TemplateValue& value) {
  const auto* list = value.as<TemplateList>();
  std::optional<TemplateValue> parts[3];
  size_t part = 0;
  // Reads the parts between the colons. A part that is absent stays empty.
  for (; !take("]");) {
    if (take(":")) {
      if (++part > 2) throw TemplateRefused("a slice of more than three parts");
    } else {
      parts[part] = next();
    }
  }
  if (value.as<Unknown>()) return value;
  if (part > 0) {
    if (!list) return unknown("a slice of what is no list");
    auto some = std::make_shared<std::vector<TemplateValue>>(**list);
    const auto number = [&](size_t i) { return parts[i] ? parts[i]->as<int64_t>() : nullptr; };
    if (parts[1] || (parts[0] && !number(0)) || (parts[2] && !number(2))) return unknown("a slice");
    const int64_t step = parts[2] ? *number(2) : 1, from = parts[0] ? *number(0) : 0;
    // Two slices are implemented: the reversed list, and the list from an index on.
    if (step == -1 && !parts[0]) {
      std::ranges::reverse(*some);
    } else if (step == 1 && from >= 0) {
      some->erase(some->begin(), some->begin() + std::min(from, std::ssize(*some)));
    } else {
      return unknown("a slice");
    }
    return {std::move(some)};
  }
  if (!parts[0]) throw TemplateRefused("an empty subscript");
  if (parts[0]->as<Unknown>()) return *parts[0];
  if (const auto* key = parts[0]->as<MarkedText>()) return member(value, key->plain());
  const auto* index = parts[0]->as<int64_t>();
  if (!list || !index) return unknown("a subscript");
  // A negative index counts from the end. Outside of the list the value is Undefined.
  const int64_t place = *index < 0 ? *index + std::ssize(**list) : *index;
  return place >= 0 && place < std::ssize(**list) ? (**list)[static_cast<size_t>(place)] : TemplateValue{};
}

// Reads `(value, name=value, ...)`. A name followed by a single `=` is a named argument.
TemplateExpressions::Arguments TemplateExpressions::arguments() {
  Arguments all;
  require("(");
  while (!take(")")) {
    const bool is_named = at_ + 1 < tokens_.size() && tokens_[at_].kind == Kind::name && tokens_[at_ + 1].text == "=" &&
                          tokens_[at_ + 1].kind == Kind::mark;
    if (is_named) {
      const std::string key = name();
      require("=");
      all.named[key] = next();
    } else {
      all.values.push_back(next());
    }
    if (!is_next(")")) require(",");
  }
  return all;
}

// Calls a function (if `self` is undefined) or a method. Only `namespace`, `get` and tests or stripping of texts
// are implemented.
TemplateValue TemplateExpressions::called(const TemplateValue& self, const std::string& name) {
  const Arguments given = arguments();
  const TemplateValue not_built = unknown("`" + name + "()`");
  const auto* text = self.as<MarkedText>();
  if (self.as<Undefined>() && name == "namespace" && given.values.empty())
    return {std::make_shared<std::map<std::string, TemplateValue>>(given.named)};
  if (!given.named.empty()) return not_built;
  // An unknown argument makes the result unknown.
  for (const TemplateValue& each : given.values)
    if (each.as<Unknown>()) return each;
  const auto* first = given.values.empty() ? nullptr : given.values.front().as<MarkedText>();
  if (const auto* fields = self.as<TemplateFields>(); fields && name == "get" && first) {
    if ((*fields)->contains(first->plain())) return (*fields)->at(first->plain());
    return given.values.size() > 1 ? given.values[1] : TemplateValue{None{}};
  }
  // The methods of texts below take at most one argument, which is a text.
  if (!text || given.values.size() > 1 || (!given.values.empty() && !first)) return not_built;
  if (name == "startswith" && first) return {text->plain().starts_with(first->plain())};
  if (name == "endswith" && first) return {text->plain().ends_with(first->plain())};
  if (name == "strip" || name == "lstrip" || name == "rstrip")
    return {stripped(*text, first ? first->plain() : std::string(kTemplateBlanks), name != "rstrip", name != "lstrip")};
  return not_built;
}

// `value|filter`. Only a few filters are implemented, all without arguments but `default`.
TemplateValue TemplateExpressions::filtered(const TemplateValue& value) {
  const std::string filter = name();
  const Arguments given = is_next("(") ? arguments() : Arguments{};
  if ((filter == "default" || filter == "d") && given.values.size() == 1 && given.named.empty())
    return value.as<Undefined>() ? given.values.front() : value;
  if (value.as<Unknown>()) return value;
  const bool plain = given.values.empty() && given.named.empty();
  if (const auto* text = value.as<MarkedText>(); text && plain) {
    if (filter == "trim") return {stripped(*text, std::string(kTemplateBlanks), true, true)};
    if (filter == "string" || filter == "safe") return value;
  }
  if (const auto length = length_of(value); length && plain && (filter == "length" || filter == "count"))
    return {*length};
  if (const auto* list = value.as<TemplateList>(); list && plain && !(*list)->empty()) {
    if (filter == "first") return (*list)->front();
    if (filter == "last") return (*list)->back();
    if (filter == "list") return value;
  }
  return unknown("the filter `" + filter + "`");
}

// `value is test`, or `value is not test`. A test that is not implemented is refused.
TemplateValue TemplateExpressions::tested(const TemplateValue& value) {
  const bool turned = take("not");
  const std::string test = name();
  if (value.as<Unknown>()) return value;
  const bool* flag = value.as<bool>();
  const bool is_list = value.as<TemplateList>() != nullptr, is_text = value.as<MarkedText>() != nullptr,
             is_fields = value.as<TemplateFields>() != nullptr;
  // Stays empty for a test that is not implemented.
  std::optional<bool> holds;
  if (test == "defined" || test == "undefined") holds = (value.as<Undefined>() == nullptr) == (test == "defined");
  if (test == "none" || test == "None") holds = value.as<None>() != nullptr;
  if (test == "string") holds = is_text;
  if (test == "mapping") holds = is_fields;
  if (test == "iterable" || test == "sequence") holds = is_list || is_text || is_fields;
  if (test == "number") holds = value.as<int64_t>() != nullptr || flag != nullptr;
  if (test == "boolean") holds = flag != nullptr;
  if (test == "true" || test == "True") holds = flag && *flag;
  if (test == "false" || test == "False") holds = flag && !*flag;
  if (!holds) throw TemplateRefused("the test `" + test + "`");
  return {*holds != turned};
}

}  // namespace tandem
