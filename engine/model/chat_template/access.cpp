// Access to parts of values: attributes, items, slices, and iteration. Jinja gives an undefined value where Python
// would raise an error, and templates depend on that.
#include "engine/model/chat_template/access.h"

#include <algorithm>
#include <array>

#include "engine/model/chat_template/characters.h"
#include "engine/model/chat_template/methods.h"
#include "engine/model/chat_template/objects.h"

namespace tandem::chat {
namespace {

// The index of an element, counted from the end if it is negative; absent beyond the ends.
std::optional<int64_t> index_in(const Value& key, int64_t count) {
  const auto index = key.as_whole();
  if (!index || !index->fits()) return std::nullopt;
  const int64_t at = index->small() < 0 ? index->small() + count : index->small();
  return at >= 0 && at < count ? std::optional(at) : std::nullopt;
}

// In a text of ASCII alone a character's index is its byte. Any other text is walked from its beginning, which the
// account counts as work.
Value character_at(Maker& maker, const String& string, int64_t index) {
  const std::string& bytes = string.text.bytes();
  size_t begin = static_cast<size_t>(index), end = begin + 1;
  if (string.characters != bytes.size()) {
    maker.work_on(static_cast<size_t>(index) * 8);
    begin = place_of(bytes, static_cast<size_t>(index));
    end = begin;
    next_character(bytes, end);
  }
  return maker.string(string.text.slice(begin, end), string.is_safe);
}

// An element by key or index; absent where Python raises a TypeError or LookupError.
std::optional<Value> element(Maker& maker, const Value& value, const Value& key) {
  if (value.dict()) {
    if (key.list() || key.dict()) return std::nullopt;
    const Value* found = find(maker, *value.dict(), key);
    return found ? std::optional(*found) : std::nullopt;
  }
  if (value.sequence()) {
    const auto index = index_in(key, std::ssize(value.sequence()->items));
    return index ? std::optional(value.sequence()->items[static_cast<size_t>(*index)]) : std::nullopt;
  }
  if (value.string()) {
    const auto index = index_in(key, static_cast<int64_t>(value.string()->characters));
    return index ? std::optional(character_at(maker, *value.string(), *index)) : std::nullopt;
  }
  if (const auto* range = value.object<Range>()) {
    const auto index = index_in(key, range->count());
    return index ? std::optional<Value>(range->at(*index)) : std::nullopt;
  }
  return std::nullopt;
}

// The words that Jinja puts in front of its messages about missing parts.
std::string described(const Value& value) {
  return value.is_none() ? "None" : std::string("'") + value.type() + " object'";
}

Value missing_attribute(Maker& maker, const Value& value, const std::string& name) {
  return maker.undefined(described(value) + " has no attribute '" + name + "'");
}

// Names that begin with an underscore are refused: Jinja's sandbox hides Python's inner attributes in this way.
std::optional<Value> own_attribute(Maker& maker, const Value& value, const std::string& name) {
  if (name.starts_with("_")) return std::nullopt;
  if (auto* with = value.object<WithAttributes>()) return with->attribute(maker, name);
  if (const auto* space = value.object<Namespace>()) {
    const Value* found = space->find(name);
    return found ? std::optional(*found) : std::nullopt;
  }
  return method(maker, value, name);
}

// A slice as a walk over indices. The step may be negative.
struct Bounds {
  int64_t begin, end, step;
};

// Python's rules for the bounds of a slice.
Bounds bounds_of(const Value& begin, const Value& end, const Value& step, int64_t count) {
  // The distance is far beyond any length, and adding a length to it does not overflow.
  static constexpr int64_t kFar = int64_t{1} << 62;
  const auto number = [](const Value& value, int64_t otherwise) {
    if (value.is_none()) return otherwise;
    const auto whole = value.as_whole();
    if (!whole) fail(std::string("a slice with a bound of type ") + value.type());
    if (!whole->fits()) return whole->is_negative() ? -kFar : kFar;
    return std::clamp(whole->small(), -kFar, kFar);
  };
  const int64_t by = number(step, 1);
  if (by == 0) fail("a slice with a step of 0");
  // A slice that goes backwards may stop before the first element, which is place -1.
  const int64_t lowest = by > 0 ? 0 : -1, highest = by > 0 ? count : count - 1;
  const auto place = [&](const Value& value, int64_t otherwise) {
    if (value.is_none()) return otherwise;
    const int64_t at = number(value, 0);
    return std::clamp(at < 0 ? at + count : at, lowest, highest);
  };
  return {place(begin, by > 0 ? 0 : count - 1), place(end, by > 0 ? count : -1), by};
}

// The bounds were clipped to the value before, so every index exists.
template <typename Use>
void each_index(const Bounds& bounds, const Use& use) {
  if (bounds.step > 0)
    for (int64_t i = bounds.begin; i < bounds.end; i += bounds.step) use(i);
  else
    for (int64_t i = bounds.begin; i > bounds.end; i += bounds.step) use(i);
}

// A slice without a step is one range of bytes, which keeps its authors. A slice with a step is joined character by
// character, from a table of the places where characters begin.
Value slice_of_string(Maker& maker, const String& string, const Bounds& bounds) {
  const std::string& bytes = string.text.bytes();
  const bool plain = string.characters == bytes.size();
  if (bounds.step == 1) {
    if (bounds.begin >= bounds.end) return maker.string(Text(), string.is_safe);
    maker.work_on(plain ? 0 : bytes.size() * 4);
    const auto place = [&](int64_t index) {
      return plain ? static_cast<size_t>(index) : place_of(bytes, static_cast<size_t>(index));
    };
    return maker.string(string.text.slice(place(bounds.begin), place(bounds.end)), string.is_safe);
  }
  // The table of places takes eight bytes for each character, so the account is asked first.
  maker.work(bytes.size() / 16);
  maker.require_room(bytes.size() * sizeof(size_t));
  const std::vector<size_t> places = places_of(bytes);
  Text result;
  each_index(bounds, [&](int64_t index) {
    const auto at = static_cast<size_t>(index);
    result.append(std::string_view(bytes).substr(places[at], places[at + 1] - places[at]),
                  string.text.author_at(places[at]));
  });
  return maker.string(std::move(result), string.is_safe);
}

// Each round gives one character, whose authors stay with it. The iterator keeps the text alive.
Iterator over_string(Maker& maker, const Value& value) {
  return [&maker, value, at = size_t{0}](Value& out) mutable {
    const String& string = *value.string();
    if (at >= string.text.size()) return false;
    const size_t begin = at;
    next_character(string.text.bytes(), at);
    out = maker.string(string.text.slice(begin, at));  // plain text, also of one that is marked `safe`
    return true;
  };
}

// The dict's entries are asked anew in each round, because the iterator holds only the dict.
Iterator over_view(Maker& maker, const Value& dict, DictView::Part part) {
  return [&maker, dict, part, at = size_t{0}](Value& out) mutable {
    const auto& entries = dict.dict()->entries;
    if (at >= entries.size()) return false;
    const auto& [key, value] = entries[at++];
    out = part == DictView::Part::keys ? key : part == DictView::Part::values ? value : maker.tuple({key, value});
    return true;
  };
}

}  // namespace

// `value.name`: first the type's own attributes and methods, then a dict's key, as Jinja looks for them.
Value attribute(Maker& maker, const Value& value, const std::string& name) {
  if (value.undefined()) fail(value.undefined()->message);
  if (auto own = own_attribute(maker, value, name)) return *own;
  if (value.dict())
    if (const Value* found = find_key(*value.dict(), name)) return *found;
  return missing_attribute(maker, value, name);
}

// `value[key]`: first an element, then an attribute of that name. A number that is no index is undefined.
Value item(Maker& maker, const Value& value, const Value& key) {
  if (value.undefined()) fail(value.undefined()->message);
  if (auto found = element(maker, value, key)) return *found;
  if (!key.string()) return maker.undefined(described(value) + " has no such element");
  if (auto own = own_attribute(maker, value, key.bytes())) return *own;
  return missing_attribute(maker, value, key.bytes());
}

// Slices as in Python: of a text by characters, of a sequence by items, of a range without making its numbers. Bounds
// are cut to the length first.
Value slice(Maker& maker, const Value& value, const Value& begin, const Value& end, const Value& step) {
  if (value.undefined()) fail(value.undefined()->message);
  if (value.string())
    return slice_of_string(maker, *value.string(),
                           bounds_of(begin, end, step, static_cast<int64_t>(value.string()->characters)));
  if (value.sequence()) {
    const Values& items = value.sequence()->items;
    Values part;
    each_index(bounds_of(begin, end, step, std::ssize(items)),
               [&](int64_t index) { part.push_back(items[static_cast<size_t>(index)]); });
    return maker.list(std::move(part), value.list() ? Sequence::Kind::list : Sequence::Kind::tuple);
  }
  if (const auto* range = value.object<Range>()) {
    const Bounds bounds = bounds_of(begin, end, step, range->count());
    // A slice of a range is a range. Its step is the product of both.
    auto part = std::make_shared<Range>();
    part->start = range->start + bounds.begin * range->step;
    part->stop = range->start + bounds.end * range->step;
    part->step = range->step * bounds.step;
    return std::shared_ptr<Object>(std::move(part));
  }
  fail(std::string("a slice of a ") + value.type());
}

// Digits between two dots are an index and any other part is a key, as in the filters' `attribute`.
Value item_by_path(Maker& maker, Value value, const Value& path) {
  if (path.is_none()) return value;
  if (!path.string()) return item(maker, value, path);
  for (std::string_view rest = path.bytes();;) {
    const std::string part(rest.substr(0, rest.find('.')));
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    value = item(maker, value, is_number ? Value(*Integer::parse(part)) : maker.string(part));
    if (part.size() == rest.size()) return value;
    rest.remove_prefix(part.size() + 1);
  }
}

bool can_iterate(const Value& value) {
  return value.undefined() || value.string() || value.sequence() || value.dict() || value.object<Range>() ||
         value.object<DictView>() || value.object<Generator>();
}

// An iterator holds its value, so the value may be a temporary one. Values that give their elements one at a time are
// asked only as far as somebody reads.
Iterator iterate(Maker& maker, const Value& value) {
  if (value.undefined()) return [](Value&) { return false; };
  if (value.sequence())
    return [value, at = size_t{0}](Value& out) mutable {
      const Values& items = value.sequence()->items;
      if (at >= items.size()) return false;
      out = items[at++];
      return true;
    };
  if (value.string()) return over_string(maker, value);
  if (value.dict()) return over_view(maker, value, DictView::Part::keys);
  if (const auto* view = value.object<DictView>()) return over_view(maker, view->dict, view->part);
  if (value.object<Generator>()) return [value](Value& out) { return value.object<Generator>()->next(out); };
  if (const auto* range = value.object<Range>())
    return [value, count = range->count(), at = int64_t{0}](Value& out) mutable {
      if (at >= count) return false;
      out = value.object<Range>()->at(at++);
      return true;
    };
  fail(std::string("a loop over a ") + value.type() + ", which has no elements");
}

// A generator may be long, so room is asked for on the way.
Values all_of(Maker& maker, const Value& value) {
  Values all;
  const Iterator next = iterate(maker, value);
  for (Value each; next(each);) {
    maker.work(1);
    all.push_back(each);
    if (all.size() % 4096 == 0) maker.require_room(all.capacity() * sizeof(Value));
  }
  return all;
}

// Values that are made while they are read, such as generators, have no length.
std::optional<int64_t> length_of(const Value& value) {
  if (value.undefined()) return 0;
  if (value.string()) return static_cast<int64_t>(value.string()->characters);
  if (value.sequence()) return std::ssize(value.sequence()->items);
  if (value.dict()) return std::ssize(value.dict()->entries);
  if (const auto* range = value.object<Range>()) return range->count();
  if (const auto* view = value.object<DictView>()) return std::ssize(view->dict.dict()->entries);
  return std::nullopt;
}

// Functions are pure and shared; macros and loops are objects with a state of their own.
Value call(Maker& maker, const Value& callee, Arguments arguments) {
  maker.work(4);
  if (callee.undefined()) fail(callee.undefined()->message);
  if (const auto* function = callee.object<Function>()) return function->call(maker, arguments);
  if (auto* own = callee.object<Callable>()) return own->call(std::move(arguments));
  fail(std::string("a ") + callee.type() + " cannot be called");
}

}  // namespace tandem::chat
