// The functions and tests that every template knows. Names that are not here are an error of their own kind, so that it
// can be seen what a template lacks.
#include "engine/model/chat_template/library.h"

#include <algorithm>
#include <map>

#include "engine/model/chat_template/access.h"
#include "engine/model/chat_template/comparing.h"
#include "engine/model/chat_template/methods.h"
#include "engine/model/chat_template/objects.h"
#include "engine/model/chat_template/operators.h"
#include "engine/model/chat_template/printing.h"

namespace tandem::chat {
namespace {

constexpr int64_t kMostRange = 100000;  // of Jinja's sandbox

// Wraps a condition on one value as a test that refuses arguments.
template <typename Of>
Test without_arguments() {
  return [](Maker&, const Value& value, const Arguments& arguments) {
    const Taken taken(arguments, "a test of one value", {});
    return Of()(value);
  };
}
#define TANDEM_CHAT_TEST(name, condition)                           \
  struct name {                                                     \
    bool operator()(const Value& value) const { return condition; } \
  }
TANDEM_CHAT_TEST(IsDefined, value.undefined() == nullptr);
TANDEM_CHAT_TEST(IsUndefined, value.undefined() != nullptr);
TANDEM_CHAT_TEST(IsNone, value.is_none());
TANDEM_CHAT_TEST(IsBoolean, value.truth() != nullptr);
TANDEM_CHAT_TEST(IsTrue, value.truth() != nullptr && *value.truth());
TANDEM_CHAT_TEST(IsFalse, value.truth() != nullptr && !*value.truth());
TANDEM_CHAT_TEST(IsInteger, value.whole() != nullptr);
TANDEM_CHAT_TEST(IsFloat, value.real() != nullptr);
TANDEM_CHAT_TEST(IsNumber, value.as_whole().has_value() || value.real() != nullptr);
TANDEM_CHAT_TEST(IsString, value.string() != nullptr);
TANDEM_CHAT_TEST(IsEscaped, value.string() != nullptr && value.string()->is_safe);
TANDEM_CHAT_TEST(IsMapping, value.dict() != nullptr);
TANDEM_CHAT_TEST(IsIterable, can_iterate(value));
TANDEM_CHAT_TEST(IsSequence,
                 value.undefined() || value.string() || value.sequence() || value.dict() || value.object<Range>());
TANDEM_CHAT_TEST(IsCallable, value.undefined() || value.object<Function>() || value.object<Callable>());
#undef TANDEM_CHAT_TEST

// The same for a test that compares with one other value.
template <typename Compare>
Test with_other() {
  return [](Maker& maker, const Value& value, const Arguments& arguments) {
    const Taken taken(arguments, "a test of two values", {""}, 1);
    return Compare()(maker, value, taken.at(0));
  };
}
struct Equal {
  bool operator()(Maker& maker, const Value& a, const Value& b) const { return equal(maker, a, b); }
};
struct Unequal {
  bool operator()(Maker& maker, const Value& a, const Value& b) const { return !equal(maker, a, b); }
};
struct Less {
  bool operator()(Maker& maker, const Value& a, const Value& b) const { return less(maker, a, b); }
};
struct LessEqual {
  bool operator()(Maker& maker, const Value& a, const Value& b) const {
    return less(maker, a, b) || equal(maker, a, b);
  }
};
struct Greater {
  bool operator()(Maker& maker, const Value& a, const Value& b) const { return less(maker, b, a); }
};
struct GreaterEqual {
  bool operator()(Maker& maker, const Value& a, const Value& b) const {
    return less(maker, b, a) || equal(maker, a, b);
  }
};
struct Same {
  bool operator()(Maker&, const Value& a, const Value& b) const { return same(a, b); }
};

// `even`, `odd` and `divisibleby` are remainders by Python's rules, so they hold for negative and real numbers.
bool leaves(Maker& maker, const Value& value, const Value& divisor, int64_t rest) {
  return equal(maker, computed(maker, Operator::modulo, value, divisor), Integer(rest));
}
struct Divisible {
  bool operator()(Maker& maker, const Value& a, const Value& b) const { return leaves(maker, a, b, 0); }
};
template <int64_t rest>
bool leaves_of_two(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "a test of one value", {});
  return leaves(maker, value, Integer(2), rest);
}

bool is_in(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the test `in`", {"seq"}, 1);
  return contains(maker, taken.at(0), value);
}

// The case of any value is that of its printed text.
template <bool upper>
bool has_case(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "a test of one value", {});
  const Value text = maker.string(printed(maker, value));
  return is_true(string_method(upper ? "isupper" : "islower")(maker, text, Arguments()));
}

bool names_filter(Maker&, const Value& value, const Arguments&) {
  return value.string() && find_filter(value.bytes()) != nullptr;
}
bool names_test(Maker&, const Value& value, const Arguments&) {
  return value.string() && find_test(value.bytes()) != nullptr;
}

// A range is kept as three numbers. Its limit is that of Jinja's sandbox, so templates fail in both alike.
Value range(Maker&, const Arguments& arguments) {
  const Taken taken(arguments, "range()", {"", "", ""}, 1);
  auto made = std::make_shared<Range>();
  made->stop = taken.whole(0);
  if (taken.has(1)) made->start = made->stop, made->stop = taken.whole(1);
  if (taken.has(2)) made->step = taken.whole(2);
  if (made->step == 0) fail("range() with a step of 0");
  const auto far = [](int64_t value) { return value > int64_t{1} << 60 || value < -(int64_t{1} << 60); };
  if (far(made->start) || far(made->stop) || far(made->step) || made->count() > kMostRange)
    fail_too_large("a range of more than " + std::to_string(kMostRange) + " numbers");
  return std::shared_ptr<Object>(std::move(made));
}

// The entries of dict() and namespace(): those of a dict or of a list of pairs, then the named arguments.
std::vector<std::pair<Value, Value>> entries_of(Maker& maker, const Arguments& arguments, const char* of) {
  if (arguments.positional.size() > 1) fail(std::string(of) + " takes at most one value by place");
  std::vector<std::pair<Value, Value>> entries;
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.dict())
      entries = from.dict()->entries;
    else
      for (const Value& pair : all_of(maker, from)) {
        const Values both = all_of(maker, pair);
        if (both.size() != 2) fail(std::string(of) + " of a list that does not hold pairs");
        entries.emplace_back(both[0], both[1]);
      }
  }
  for (const auto& [name, value] : arguments.named) entries.emplace_back(maker.string(name), value);
  return entries;
}

Value make_dict(Maker& maker, const Arguments& arguments) { return maker.dict(entries_of(maker, arguments, "dict()")); }

// A cycler gives its values in turn. It holds them, so their nesting is checked here.
Value make_cycler(Maker&, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) fail("cycler() without values");
  auto made = std::make_shared<Cycler>();
  for (const Value& each : arguments.positional)
    if (each.nesting() + 1 >= kMostNesting) fail_too_large("values that are nested too deeply");
  made->items = arguments.positional;
  return std::shared_ptr<Object>(std::move(made));
}

// A function that returns nothing when it is called first, and the separator from then on.
Value make_joiner(Maker& maker, const Arguments& arguments) {
  const Taken taken(arguments, "joiner()", {"sep"});
  const Value separator = taken.has(0) ? taken.at(0) : maker.string(", ");
  auto used = std::make_shared<bool>(false);
  return function(
      "joiner",
      [separator, used](Maker& own, const Arguments&) {
        return std::exchange(*used, true) ? separator : own.string("");
      },
      separator.nesting());
}

// A template refuses a conversation by this function. Its words go to the user.
Value raise(Maker& maker, const Arguments& arguments) {
  const Taken taken(arguments, "raise_exception()", {"message"}, 1);
  throw Fault{Fault::Kind::refusal, printed(maker, taken.at(0)).bytes(), 0};
}

// The date has no time zone and no parts of a second.
std::string without_zones(const std::string& form) {
  std::string result;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '%' || i + 1 == form.size()) {
      result += form[i];
      continue;
    }
    const char letter = form[++i];
    if (letter == 'f')
      result += "000000";
    else if (letter != 'z' && letter != 'Z')
      result.append({'%', letter});
  }
  return result;
}

// strftime() gives the number of characters that it wrote, and 0 both for none and for too many.
Value show_time(Maker& maker, const Arguments& arguments, const std::tm& now) {
  const Taken taken(arguments, "strftime_now()", {"format"}, 1);
  // A blank in front tells a date without characters from one without room.
  const std::string form = " " + without_zones(taken.string(0).text.bytes());
  if (form.size() > 4096) fail_too_large("a form of a date with more than 4,096 characters");
  if (form.find('\0') != std::string::npos) fail("a form of a date with a character of code 0");
  std::string text(form.size() * 128 + 256, '\0');
  text.resize(std::strftime(text.data(), text.size(), form.c_str(), &now));
  return maker.string(text.substr(std::min<size_t>(1, text.size())));
}

}  // namespace

// Jinja's tests by name, with its short names for comparisons. A test that is missing here is reported by name.
Test find_test(std::string_view name) {
  static const std::map<std::string_view, Test> table = {
      {"!=", with_other<Unequal>()},
      {"<", with_other<Less>()},
      {"<=", with_other<LessEqual>()},
      {"==", with_other<Equal>()},
      {">", with_other<Greater>()},
      {">=", with_other<GreaterEqual>()},
      {"boolean", without_arguments<IsBoolean>()},
      {"callable", without_arguments<IsCallable>()},
      {"defined", without_arguments<IsDefined>()},
      {"divisibleby", with_other<Divisible>()},
      {"eq", with_other<Equal>()},
      {"equalto", with_other<Equal>()},
      {"escaped", without_arguments<IsEscaped>()},
      {"even", leaves_of_two<0>},
      {"false", without_arguments<IsFalse>()},
      {"filter", names_filter},
      {"float", without_arguments<IsFloat>()},
      {"ge", with_other<GreaterEqual>()},
      {"greaterthan", with_other<Greater>()},
      {"gt", with_other<Greater>()},
      {"in", is_in},
      {"integer", without_arguments<IsInteger>()},
      {"iterable", without_arguments<IsIterable>()},
      {"le", with_other<LessEqual>()},
      {"lessthan", with_other<Less>()},
      {"lower", has_case<false>},
      {"lt", with_other<Less>()},
      {"mapping", without_arguments<IsMapping>()},
      {"ne", with_other<Unequal>()},
      {"none", without_arguments<IsNone>()},
      {"number", without_arguments<IsNumber>()},
      {"odd", leaves_of_two<1>},
      {"sameas", with_other<Same>()},
      {"sequence", without_arguments<IsSequence>()},
      {"string", without_arguments<IsString>()},
      {"test", names_test},
      {"true", without_arguments<IsTrue>()},
      {"undefined", without_arguments<IsUndefined>()},
      {"upper", has_case<true>},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

// Filters have two tables, one for texts and one for lists.
Filter find_filter(std::string_view name) {
  const Filter found = text_filter(name);
  return found != nullptr ? found : list_filter(name);
}

Filter required_filter(std::string_view name) {
  if (const Filter found = find_filter(name)) return found;
  fail_unknown("the filter `" + std::string(name) + "`");
}

Test required_test(std::string_view name) {
  if (const Test found = find_test(name)) return found;
  fail_unknown("the test `" + std::string(name) + "`");
}

// Functions that a template may call without a definition of its own. `lipsum` exists in Jinja and makes random text,
// so it is refused by name.
std::optional<Value> global_function(std::string_view name, const std::tm& now) {
  if (name == "range") return function("range", range);
  if (name == "dict") return function("dict", make_dict);
  if (name == "cycler") return function("cycler", make_cycler);
  if (name == "joiner") return function("joiner", make_joiner);
  if (name == "raise_exception") return function("raise_exception", raise);
  if (name == "strftime_now")
    return function("strftime_now",
                    [now](Maker& maker, const Arguments& arguments) { return show_time(maker, arguments, now); });
  if (name == "lipsum")
    return function("lipsum", [](Maker&, const Arguments&) -> Value { fail_unknown("the function `lipsum`"); });
  return std::nullopt;
}

}  // namespace tandem::chat
