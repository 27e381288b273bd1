// Methods of values by name. Jinja's sandbox forbids some that exist in Python, and templates must meet the same
// refusals here.
#include "engine/model/chat_template/methods.h"

#include <algorithm>
#include <iterator>

#include "engine/model/chat_template/access.h"
#include "engine/model/chat_template/comparing.h"
#include "engine/model/chat_template/objects.h"

namespace tandem::chat {
namespace {

// The attributes that Python's types have, without those that begin with `_`.
constexpr std::string_view kOfStr[] = {
    "capitalize",   "casefold",   "center",    "count",       "encode",    "endswith",     "expandtabs",   "find",
    "format",       "format_map", "index",     "isalnum",     "isalpha",   "isascii",      "isdecimal",    "isdigit",
    "isidentifier", "islower",    "isnumeric", "isprintable", "isspace",   "istitle",      "isupper",      "join",
    "ljust",        "lower",      "lstrip",    "maketrans",   "partition", "removeprefix", "removesuffix", "replace",
    "rfind",        "rindex",     "rjust",     "rpartition",  "rsplit",    "rstrip",       "split",        "splitlines",
    "startswith",   "strip",      "swapcase",  "title",       "translate", "upper",        "zfill"};
constexpr std::string_view kOfMarkup[] = {"escape", "striptags", "unescape"};
constexpr std::string_view kOfInt[] = {"as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
                                       "from_bytes",       "imag",      "numerator",  "real",      "to_bytes"};
constexpr std::string_view kOfFloat[] = {"as_integer_ratio", "conjugate", "fromhex", "hex", "imag",
                                         "is_integer",       "real"};
constexpr std::string_view kOfView[] = {"isdisjoint", "mapping"};
constexpr std::string_view kOfGenerator[] = {"close",        "gi_code",      "gi_frame", "gi_running",
                                             "gi_suspended", "gi_yieldfrom", "send",     "throw"};
constexpr std::string_view kChangesList[] = {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
constexpr std::string_view kChangesDict[] = {"clear", "pop", "popitem", "setdefault", "update"};

template <typename Names>
bool is_among(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

// Methods that would change a value are undefined in Jinja's sandbox, so calling one is an error.
Value forbidden(Maker& maker, const Value& value, const std::string& name) {
  return maker.undefined("access to attribute '" + name + "' of '" + value.type() + "' object is unsafe.");
}

[[noreturn]] void fail_unknown_method(const Value& value, const std::string& name) {
  fail_unknown("the method or attribute `" + name + "` of a " + value.type());
}

// A view keeps the dict, not a copy of its entries.
Value view_of(const Value& dict, DictView::Part part) {
  auto view = std::make_shared<DictView>();
  view->dict = dict;
  view->part = part;
  return std::shared_ptr<Object>(std::move(view));
}

// Methods of a dict that change nothing. A copy is the dict itself, because dicts do not change.
std::optional<Value> dict_method(Maker& maker, const Value& self, const std::string& name) {
  const auto bound = [&](auto call) { return function(name, std::move(call), self.nesting()); };
  const auto view = [&](DictView::Part part) {
    return bound([self, part](Maker&, const Arguments& arguments) {
      const Taken taken(arguments, "a view of a dict", {});
      return view_of(self, part);
    });
  };
  if (is_among(kChangesDict, name)) return forbidden(maker, self, name);
  if (name == "items") return view(DictView::Part::items);
  if (name == "keys") return view(DictView::Part::keys);
  if (name == "values") return view(DictView::Part::values);
  if (name == "get")
    return bound([self](Maker& own, const Arguments& arguments) {
      const Taken taken(arguments, "get()", {"", ""}, 1);
      const Value* found = find(own, *self.dict(), taken.at(0));
      return found ? *found : taken.or_none(1);
    });
  if (name == "copy") return bound([self](Maker&, const Arguments&) { return self; });
  if (name == "fromkeys") fail_unknown_method(self, name);
  return std::nullopt;
}

// The search begins at a place that may count from the end. The answer counts from the beginning of the whole.
Value index_of(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, "index()", {"", "", ""}, 1);
  const Value part = slice(maker, self, taken.has(1) ? taken.at(1) : Value(Integer(0)), taken.or_none(2), Value());
  const auto& items = part.sequence()->items;
  const auto found = std::ranges::find_if(items, [&](const Value& each) { return equal(maker, each, taken.at(0)); });
  if (found == items.end()) fail("index() of a value that is not there");
  const auto count = static_cast<int64_t>(self.sequence()->items.size());
  int64_t first = taken.has(1) ? taken.whole(1) : 0;
  if (first < 0) first = std::max<int64_t>(0, first + count);
  return Integer(found - items.begin() + first);
}

// Methods of lists and tuples that change nothing. A group of `groupby` also has its two parts by name. Functions keep
// the sequence alive, so their nesting is the sequence's.
std::optional<Value> sequence_method(Maker& maker, const Value& self, const std::string& name) {
  const bool is_list = self.list() != nullptr;
  if (is_list && is_among(kChangesList, name)) return forbidden(maker, self, name);
  if (self.sequence()->kind == Sequence::Kind::group) {
    if (name == "grouper") return self.sequence()->items[0];
    if (name == "list") return self.sequence()->items[1];
  }
  if (name == "index")
    return function(
        name, [self](Maker& own, const Arguments& given) { return index_of(own, self, given); }, self.nesting());
  if (name == "count")
    return function(
        name,
        [self](Maker& own, const Arguments& given) {
          const Taken taken(given, "count()", {""}, 1);
          own.work(self.sequence()->items.size());
          return Value(Integer(std::ranges::count_if(
              self.sequence()->items, [&](const Value& each) { return equal(own, each, taken.at(0)); })));
        },
        self.nesting());
  if (is_list && name == "copy")
    return function(
        name, [self](Maker&, const Arguments&) { return self; }, self.nesting());
  return std::nullopt;
}

// Attributes of ranges, views of dicts, generators, and of Jinja's cycler and joiner. An attribute that
// Python has and this program has not is an error that names it.
std::optional<Value> object_method(Maker& maker, const Value& value, const std::string& name) {
  if (const auto* range = value.object<Range>()) {
    if (name == "start") return Value(Integer(range->start));
    if (name == "stop") return Value(Integer(range->stop));
    if (name == "step") return Value(Integer(range->step));
    if (name == "index" || name == "count") fail_unknown_method(value, name);
  }
  if (value.object<DictView>() && is_among(kOfView, name)) fail_unknown_method(value, name);
  if (value.object<Generator>() && is_among(kOfGenerator, name)) fail_unknown_method(value, name);
  if (auto* cycler = value.object<Cycler>()) {
    if (name == "current") return cycler->items[cycler->at];
    if (name == "next" || name == "reset")
      return function(
          name,
          [value, name](Maker&, const Arguments&) {
            auto& self = *value.object<Cycler>();
            if (name == "reset") return self.at = 0, Value();
            const Value current = self.items[self.at];
            self.at = (self.at + 1) % self.items.size();
            return current;
          },
          0);
    if (name == "items") return maker.tuple(cycler->items);
    if (name == "pos") return Value(Integer(static_cast<int64_t>(cycler->at)));
  }
  if (value.object<Joiner>() && (name == "sep" || name == "used")) fail_unknown_method(value, name);
  return std::nullopt;
}

}  // namespace

// A method is a function bound to its value. Three answers differ: a known method, one that only Python knows (an error
// by name), and none at all (absent, so undefined).
std::optional<Value> method(Maker& maker, const Value& value, const std::string& name) {
  if (value.string()) {
    if (const StringMethod known = string_method(name))
      return function(
          name,
          [known, value](Maker& own, const Arguments& given) {
            own.work_on(value.bytes().size());
            return known(own, value, given);
          },
          value.nesting());
    if (is_among(kOfStr, name) || (value.string()->is_safe && is_among(kOfMarkup, name)))
      fail_unknown_method(value, name);
    return std::nullopt;
  }
  if (value.dict()) return dict_method(maker, value, name);
  if (value.sequence()) return sequence_method(maker, value, name);
  if (value.object()) return object_method(maker, value, name);
  const bool is_known = (value.as_whole() && is_among(kOfInt, name)) || (value.real() && is_among(kOfFloat, name));
  if (is_known) fail_unknown_method(value, name);
  return std::nullopt;
}

}  // namespace tandem::chat
