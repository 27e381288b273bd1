// Filters that make texts and numbers.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "engine/model/chat_template/access.h"
#include "engine/model/chat_template/characters.h"
#include "engine/model/chat_template/comparing.h"
#include "engine/model/chat_template/format.h"
#include "engine/model/chat_template/library.h"
#include "engine/model/chat_template/methods.h"
#include "engine/model/chat_template/operators.h"
#include "engine/model/chat_template/printing.h"

namespace tandem::chat {
namespace {

// A text stays one; other values become theirs.
Value as_string(Maker& maker, const Value& value) {
  return value.string() ? value : maker.string(printed(maker, value));
}
// Some of Jinja's filters take texts alone and fail for other values.
const String& required_string(const Value& value, const char* filter) {
  if (!value.string()) fail(std::string("the filter `") + filter + "` of a " + value.type());
  return *value.string();
}

// A filter that is a method of str, for any value by its printed text.
template <const char* const& name>
Value by_method(Maker& maker, const Value& value, const Arguments& arguments) {
  return string_method(name)(maker, as_string(maker, value), arguments);
}
constexpr const char *kUpper = "upper", *kLower = "lower", *kCapitalize = "capitalize";

Value trim(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `trim`", {"chars"});
  const Value text = as_string(maker, value);
  maker.work_on(text.bytes().size());
  const std::string* characters = taken.is_none(0) ? nullptr : &taken.string(0).text.bytes();
  return maker.string(stripped(text.string()->text, characters, true, true), text.string()->is_safe);
}

// A word begins behind a blank, a hyphen or an opening bracket. Its first letter is no neighbour of the others.
Value title(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `title`", {});
  const Value text = as_string(maker, value);
  const std::string_view bytes = text.bytes();
  maker.work(bytes.size() / 4);
  const auto divides = [](char32_t c) {
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
  };
  bool begins = true;
  size_t rest = 0, stop = 0;  // the word's letters behind the first
  Text result = each_changed(maker, text.string()->text, [&](size_t begin, size_t end) {
    size_t at = begin;
    if (divides(next_character(bytes, at))) {
      begins = true;
      return std::string(bytes.substr(begin, end - begin));
    }
    if (std::exchange(begins, false)) {
      rest = stop = end;
      for (size_t next = end; next < bytes.size() && !divides(next_character(bytes, next));) stop = next;
      return in_case(bytes.substr(begin, end - begin), Case::upper);
    }
    return in_case(bytes.substr(rest, stop - rest), begin - rest, end - rest, Case::lower);
  });
  return maker.string(std::move(result), text.string()->is_safe);
}

Value center(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `center`", {"width"});
  const Value text = as_string(maker, value);
  return maker.string(centered(maker, *text.string(), taken.whole(0, 80), ' '), text.string()->is_safe);
}

// All three texts are printed values, so a number may be replaced as well.
Value replace(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `replace`", {"old", "new", "count"}, 2);
  const int64_t most = taken.is_none(2) ? -1 : taken.whole(2);
  return maker.string(
      replaced(maker, printed(maker, value), printed(maker, taken.at(0)), printed(maker, taken.at(1)), most));
}

// Values are printed first, because Jinja joins numbers too.
Value join(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `join`", {"d", "attribute"});
  Values texts;
  const Iterator next = iterate(maker, value);
  for (Value each; next(each);) {
    maker.work(1);
    texts.push_back(as_string(maker, item_by_path(maker, each, taken.or_none(1))));
  }
  return maker.string(joined(maker, texts, taken.has(0) ? printed(maker, taken.at(0)) : Text()));
}

// The first line and empty lines stay as they are unless the arguments say otherwise. Line ends all become \n.
Value indent(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `indent`", {"width", "first", "blank"});
  const String& string = required_string(value, "indent");
  const Text space =
      taken.has(0) && taken.at(0).string() ? taken.string(0).text : repeated(maker, Text(" "), taken.whole(0, 4));
  const bool first = taken.truth(1, false), blank = taken.truth(2, false);
  Text with_end = string.text;
  with_end.append("\n", Author::chat_template);
  const std::vector<Text> lines = lines_of(with_end, false);
  maker.work(lines.size());
  Text result;
  for (size_t i = 0; i < lines.size(); ++i) {
    maker.require_room(result.size() + lines[i].size() + space.size());
    if (i > 0) result.append("\n", Author::chat_template);
    if (i == 0 ? first : blank || !lines[i].empty()) result.append(space);
    result.append(lines[i]);
  }
  return maker.string(std::move(result), string.is_safe);
}

// A text that is only a little longer than allowed (`leeway`) stays whole. The cut is at a blank unless
// `killwords` is set.
Value truncate(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `truncate`", {"length", "killwords", "end", "leeway"});
  const int64_t length = taken.whole(0, 255), leeway = taken.is_none(3) ? 5 : taken.whole(3);
  const Value end = taken.has(2) ? taken.at(2) : maker.string("...");
  const auto rest = length - static_cast<int64_t>(required_string(end, "truncate").characters);
  if (rest < 0 || leeway < 0) fail("the filter `truncate` with a length shorter than its end");
  const auto count = length_of(value);
  if (!count) fail(std::string("the length of a ") + value.type());
  if (*count <= length + leeway) return value;
  const String& string = required_string(value, "truncate");
  Text kept = string.text.slice(0, place_of(string.text.bytes(), static_cast<size_t>(rest)));
  const size_t blank = kept.bytes().rfind(' ');
  if (!taken.truth(1, false) && blank != std::string::npos) kept = kept.slice(0, blank);
  kept.append(end.string()->text);
  return maker.string(std::move(kept), string.is_safe);
}

// Words are runs of letters, digits and underscores, as in Jinja's pattern \w+.
Value wordcount(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `wordcount`", {});
  const Value text = as_string(maker, value);
  maker.work(text.bytes().size());
  int64_t count = 0;
  bool in_word = false;
  for (size_t at = 0; at < text.bytes().size();) {
    const bool is_word = is(CharacterClass::word, next_character(text.bytes(), at));
    if (is_word && !in_word) ++count;
    in_word = is_word;
  }
  return Integer(count);
}

// Values by place fill a form as a tuple does, and values by name as a dict does.
Value format(Maker& maker, const Value& value, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    fail("the filter `format` with values both by place and by name");
  std::vector<std::pair<Value, Value>> named;
  for (const auto& [name, each] : arguments.named) named.emplace_back(maker.string(name), each);
  const Value values = named.empty() ? maker.tuple(arguments.positional) : maker.dict(std::move(named));
  return computed(maker, Operator::modulo, as_string(maker, value), values);
}

Value string(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `string`", {});
  return as_string(maker, value);
}

// A text that is marked `safe` is escaped already. `forceescape` escapes it once more.
Value escape(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `escape`", {});
  if (value.string() && value.string()->is_safe) return value;
  return maker.string(escaped_html(maker, printed(maker, value)), true);
}
Value force_escape(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `forceescape`", {});
  return maker.string(escaped_html(maker, printed(maker, value)), true);
}
Value safe(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `safe`", {});
  return maker.string(printed(maker, value), true);
}

// The function is that of transformers, which replaces Jinja's own.
Value tojson(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `tojson`", {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonForm form;
  form.ascii_only = taken.truth(0, false);
  form.sorted = taken.truth(3, false);
  if (!taken.is_none(1)) {
    form.comma = ",";
    form.indent =
        taken.at(1).string() ? taken.string(1).text.bytes() : repeated(maker, Text(" "), taken.whole(1)).bytes();
  }
  if (!taken.is_none(2)) {
    const Values parts = all_of(maker, taken.at(2));
    if (parts.size() != 2 || !parts[0].string() || !parts[1].string()) taken.refuse(2, "two texts");
    form.comma = parts[0].bytes();
    form.colon = parts[1].bytes();
  }
  return maker.string(json_text(maker, value, form));
}

// A text is read as a whole number first, and as a real one after that. Whatever is neither gives the default.
Value whole(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `int`", {"default", "base"});
  const Value otherwise = taken.has(0) ? taken.at(0) : Value(Integer(0));
  if (value.undefined()) fail(value.undefined()->message);
  if (const auto known = value.as_whole()) return *known;
  const auto cut = [](double real) { return Integer::of(std::trunc(real)); };
  if (value.real()) {
    if (std::isinf(*value.real())) fail("a whole number of an infinite one");
    return std::isnan(*value.real()) ? otherwise : Value(cut(*value.real()));
  }
  if (!value.string()) return otherwise;
  maker.work_on(value.bytes().size());
  const int64_t base = taken.whole(1, 10);
  if (base != 0 && (base < 2 || base > 36)) return otherwise;
  maker.work(value.bytes().size());
  if (const auto spelt = read_whole(value.bytes(), static_cast<int>(base))) return *spelt;
  const auto real = read_real(value.bytes());
  return real && std::isfinite(*real) ? Value(cut(*real)) : otherwise;
}

// A text that is no number gives the default, and no error.
Value real(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `float`", {"default"});
  const Value otherwise = taken.has(0) ? taken.at(0) : Value(0.0);
  if (value.undefined()) fail(value.undefined()->message);
  if (value.real()) return value;
  if (const auto known = value.as_whole()) return known->to_double();
  if (!value.string()) return otherwise;
  maker.work(value.bytes().size() / 4);
  const auto spelt = read_real(value.bytes());
  return spelt ? Value(*spelt) : otherwise;
}

// A number stays of its kind: whole or real.
Value absolute(Maker&, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `abs`", {});
  if (const auto known = value.as_whole()) return known->is_negative() ? -*known : *known;
  if (value.real()) return std::abs(*value.real());
  fail(std::string("the filter `abs` of a ") + value.type());
}

// To the nearest; of two equally near ones, the even one. The C library rounds decimal digits exactly, so the number is
// written with so many places and read again.
Value rounded_number(const Value& value, int64_t places) {
  const auto known = value.as_whole();
  if (known && places >= 0) return *known;
  if (places < 0 || places > 300) fail_unknown("the filter `round` to " + std::to_string(places) + " places");
  if (!value.real()) fail(std::string("the filter `round` of a ") + value.type());
  if (!std::isfinite(*value.real())) return value;
  const int size = std::snprintf(nullptr, 0, "%.*f", static_cast<int>(places), *value.real());
  std::string digits(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(digits.data(), digits.size(), "%.*f", static_cast<int>(places), *value.real());
  return std::strtod(digits.c_str(), nullptr);
}

// Jinja's `round`: `common` rounds as Python's round() does, half to even on exact values. The other two methods are
// ceiling and floor at a decimal place.
Value round(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `round`", {"precision", "method"});
  maker.work(128);
  const bool to_whole = taken.has(0) && taken.at(0).is_none();
  const int64_t places = to_whole ? 0 : taken.whole(0);
  const std::string method = taken.has(1) ? taken.string(1).text.bytes() : "common";
  if (method == "common" && to_whole && value.real()) {
    if (!std::isfinite(*value.real())) fail("a whole number of one that has none");
    return Integer::of(*rounded_number(value, 0).real());
  }
  if (method == "common") return rounded_number(value, places);
  // `ceil` and `floor` scale by a power of ten, cut, and scale back, as Jinja computes them.
  if (method != "ceil" && method != "floor") fail("the filter `round` by the method `" + method + "`");
  const Value scale = computed(maker, Operator::power, Integer(10), Integer(places));
  const Value scaled = computed(maker, Operator::multiply, value, scale);
  if (!scaled.as_whole() && !scaled.real()) fail(std::string("the filter `round` of a ") + value.type());
  if (scaled.as_whole()) return computed(maker, Operator::divide, *scaled.as_whole(), scale);
  if (!std::isfinite(*scaled.real())) fail("a whole number of an infinite one");
  const double cut = method == "ceil" ? std::ceil(*scaled.real()) : std::floor(*scaled.real());
  return computed(maker, Operator::divide, Integer::of(cut), scale);
}

}  // namespace

// The filters of this file by name. list_filters.cpp has the others.
Filter text_filter(std::string_view name) {
  static const std::map<std::string_view, Filter> table = {
      {"abs", absolute},
      {"capitalize", by_method<kCapitalize>},
      {"center", center},
      {"e", escape},
      {"escape", escape},
      {"float", real},
      {"forceescape", force_escape},
      {"format", format},
      {"indent", indent},
      {"int", whole},
      {"join", join},
      {"lower", by_method<kLower>},
      {"replace", replace},
      {"round", round},
      {"safe", safe},
      {"string", string},
      {"title", title},
      {"tojson", tojson},
      {"trim", trim},
      {"truncate", truncate},
      {"upper", by_method<kUpper>},
      {"wordcount", wordcount},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace tandem::chat
