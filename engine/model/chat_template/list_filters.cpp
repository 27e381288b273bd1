// Filters that choose, order and group values.
#include <algorithm>
#include <map>
#include <set>

#include "engine/model/chat_template/access.h"
#include "engine/model/chat_template/comparing.h"
#include "engine/model/chat_template/library.h"
#include "engine/model/chat_template/methods.h"
#include "engine/model/chat_template/objects.h"
#include "engine/model/chat_template/operators.h"

namespace tandem::chat {
namespace {

// Filters ignore the case of letters unless they are asked to mind it, as Jinja's do.
Value in_lower_case(Maker& maker, const Value& value) {
  return value.string() ? maker.string(cased(maker, value.string()->text, Case::lower)) : value;
}

// Gives the part of an element by which filters compare: all of it, or the value at a path. They may ignore the
// case of letters.
class KeyOf {
 public:
  KeyOf(Maker& maker, const Value& path, bool has_case, Value otherwise = {})
      : maker_(maker), path_(path), otherwise_(std::move(otherwise)), has_case_(has_case) {}
  // Sorting ignores case unless the template wants it, as in Jinja.
  Value operator()(const Value& each) const {
    maker_.work(1);
    Value key = item_by_path(maker_, each, path_);
    if (key.undefined() && !otherwise_.is_none()) key = otherwise_;
    return has_case_ ? key : in_lower_case(maker_, key);
  }
  // A list with the key of each of several paths, which commas divide.
  Value several(const Value& each) const {
    if (!path_.string()) return maker_.list({(*this)(each)});
    Values keys;
    for (std::string_view rest = path_.bytes();;) {
      const std::string part(rest.substr(0, rest.find(',')));
      keys.push_back(KeyOf(maker_, maker_.string(part), has_case_, otherwise_)(each));
      if (part.size() == rest.size()) return maker_.list(std::move(keys));
      rest.remove_prefix(part.size() + 1);
    }
  }

 private:
  Maker& maker_;
  const Value path_, otherwise_;
  const bool has_case_;
};

// Python looks for the elements when the first one is asked for, so a value that has none is no error before.
Iterator later(Maker& maker, const Value& value) {
  return [&maker, value, source = Iterator()](Value& out) mutable {
    if (!source) source = iterate(maker, value);
    return source(out);
  };
}

// An element beside the part by which it is compared, so that the part is made once.
struct Keyed {
  Value key, value;
};

// Stability matters: templates sort by one attribute after another.
void sort_by_key(Maker& maker, std::vector<Keyed>& all, bool reverse) {
  // Equal elements keep their order, also in a reversed one.
  const auto before = [&maker, reverse](const Keyed& a, const Keyed& b) {
    maker.work(1);
    return reverse ? less(maker, b.key, a.key) : less(maker, a.key, b.key);
  };
  std::ranges::stable_sort(all, before);
}

// Keys are computed once for each value, before any comparison.
template <typename Key>
std::vector<Keyed> keyed(Maker& maker, const Value& value, const Key& key) {
  std::vector<Keyed> all;
  for (const Value& each : all_of(maker, value)) all.push_back({key(each), each});
  return all;
}

Value values_of(Maker& maker, std::vector<Keyed> all) {
  Values values;
  for (Keyed& each : all) values.push_back(std::move(each.value));
  return maker.list(std::move(values));
}

// Several attributes, divided by commas, are compared in their order.
Value sort(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `sort`", {"reverse", "case_sensitive", "attribute"});
  const KeyOf key(maker, taken.or_none(2), taken.truth(1, false));
  auto all = keyed(maker, value, [&key](const Value& each) { return key.several(each); });
  sort_by_key(maker, all, taken.truth(0, false));
  return values_of(maker, std::move(all));
}

// Gives pairs in order, because a dict itself keeps the order of its insertion.
Value dictsort(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `dictsort`", {"case_sensitive", "by", "reverse"});
  if (!value.dict()) fail(std::string("the filter `dictsort` of a ") + value.type());
  const std::string by = taken.has(1) ? taken.string(1).text.bytes() : "key";
  if (by != "key" && by != "value") fail("the filter `dictsort` by `" + by + "`");
  const KeyOf key(maker, Value(), taken.truth(0, false));
  std::vector<Keyed> all;
  for (const auto& [name, each] : value.dict()->entries)
    all.push_back({key(by == "key" ? name : each), maker.tuple({name, each})});
  sort_by_key(maker, all, taken.truth(2, false));
  return values_of(maker, std::move(all));
}

// Values are sorted by their key first, so equal keys stand together. The group shows the key as it was written.
Value groupby(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `groupby`", {"attribute", "default", "case_sensitive"}, 1);
  const bool has_case = taken.truth(2, false);
  const KeyOf key(maker, taken.at(0), has_case, taken.or_none(1)), shown(maker, taken.at(0), true, taken.or_none(1));
  auto all = keyed(maker, value, key);
  sort_by_key(maker, all, false);
  Values groups;
  for (size_t begin = 0; begin < all.size();) {
    Values members;
    size_t end = begin;
    while (end < all.size() && equal(maker, all[end].key, all[begin].key)) members.push_back(all[end++].value);
    groups.push_back(maker.list({shown(all[begin].value), maker.list(std::move(members))}, Sequence::Kind::group));
    begin = end;
  }
  return maker.list(std::move(groups));
}

// The first of several equal elements counts.
template <bool largest>
Value extreme(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, largest ? "the filter `max`" : "the filter `min`", {"case_sensitive", "attribute"});
  const KeyOf key(maker, taken.or_none(1), taken.truth(0, false));
  const auto all = keyed(maker, value, key);
  if (all.empty()) return maker.undefined("No aggregated item, sequence was empty.");
  const Keyed* best = &all[0];
  for (size_t i = 1; i < all.size(); ++i)
    if (largest ? less(maker, best->key, all[i].key) : less(maker, all[i].key, best->key)) best = &all[i];
  return best->value;
}

// Python's sum() refuses texts as its start, and so does this.
Value sum(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `sum`", {"attribute", "start"});
  Value total = taken.has(1) ? taken.at(1) : Value(Integer(0));
  if (total.string()) fail("the filter `sum` of texts");
  for (const Value& each : all_of(maker, value))
    total = computed(maker, Operator::add, total, item_by_path(maker, each, taken.or_none(0)));
  return total;
}

// The generator gives values one by one, and skips a value whose key was seen before.
Value unique(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `unique`", {"case_sensitive", "attribute"});
  auto seen = std::make_shared<std::set<std::string>>();
  const KeyOf key(maker, taken.or_none(1), taken.truth(0, false));
  const Iterator source = later(maker, value);
  return generator(
      [seen, key, source](Value& out) {
        while (source(out)) {
          const auto name = key_of(key(out));
          if (!name) fail("the filter `unique` of lists or dicts");
          if (seen->insert(*name).second) return true;
        }
        return false;
      },
      value.nesting());
}

// Only the first element is read, so a long generator costs nothing.
Value first(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `first`", {});
  Value found;
  return iterate(maker, value)(found) ? found : maker.undefined("No first item, sequence was empty.");
}

// A generator has no last value; its own elements are counted from the front alone.
Values reversible(Maker& maker, const Value& value, const char* filter) {
  if (value.object<Generator>() || !can_iterate(value))
    fail(std::string("the filter `") + filter + "` of a " + value.type());
  return all_of(maker, value);
}

// Sequences are asked for their last item. Other values must be read to the end.
Value last(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `last`", {});
  if (value.sequence() || value.string()) {
    const auto count = *length_of(value);
    return count > 0 ? item(maker, value, Integer(count - 1)) : maker.undefined("No last item, sequence was empty.");
  }
  const Values all = reversible(maker, value, "last");
  return all.empty() ? maker.undefined("No last item, sequence was empty.") : all.back();
}

// The iterator owns the values, since a generator may outlive the call that has made it.
Iterator over(Values values) {
  auto all = std::make_shared<const Values>(std::move(values));
  return [all, at = size_t{0}](Value& out) mutable {
    if (at >= all->size()) return false;
    out = (*all)[at++];
    return true;
  };
}

// A reversed text is a text, a reversed generator a list, and all else a generator, as Python's reversed() gives them.
Value reverse(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `reverse`", {});
  if (value.string()) return slice(maker, value, Value(), Value(), Integer(-1));
  Values all = all_of(maker, value);
  std::ranges::reverse(all);
  if (value.object<Generator>()) return maker.list(std::move(all));
  const Value kept = maker.list(std::move(all));
  return generator(iterate(maker, kept), kept.nesting(), "list_reverseiterator");
}

Value list(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `list`", {});
  return maker.list(all_of(maker, value));
}

Value length(Maker&, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `length`", {});
  if (const auto count = length_of(value)) return Integer(*count);
  fail(std::string("the length of a ") + value.type());
}

// The pairs of a dict, one at a time. An undefined value has none.
Value items(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `items`", {});
  if (value.undefined()) return generator([](Value&) { return false; }, 0);
  // Python finds out when the first pair is asked for.
  if (!value.dict())
    return generator([type = std::string(value.type())](Value&) -> bool { fail("the filter `items` of a " + type); },
                     value.nesting());
  return generator(
      [&maker, value, at = size_t{0}](Value& out) mutable {
        const auto& entries = value.dict()->entries;
        if (at >= entries.size()) return false;
        out = maker.tuple({entries[at].first, entries[at].second});
        ++at;
        return true;
      },
      value.nesting() + 1);
}

// `default` replaces what is undefined, and with a second argument all that is false.
Value otherwise(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `default`", {"default_value", "boolean"});
  const bool replaces = value.undefined() || (taken.truth(1, false) && !is_true(value));
  if (!replaces) return value;
  return taken.has(0) ? taken.at(0) : maker.string("");
}

// `attr` asks for an attribute alone: the key of a dict is none.
Value attr(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `attr`", {"name"}, 1);
  const std::string& name = taken.string(0).text.bytes();
  if (!value.dict()) return attribute(maker, value, name);
  const auto found = name.starts_with('_') ? std::nullopt : method(maker, value, name);
  return found ? *found : maker.undefined("'dict object' has no attribute '" + name + "'");
}

// A generator whose values are made together when the first one is asked for.
template <typename Make>
Value made_later(const Value& value, const Make& make) {
  return generator(
      [make, source = Iterator()](Value& out) mutable {
        if (!source) source = over(make());
        return source(out);
      },
      value.nesting() + 1);
}

// Lists of `size` values each. The last list is filled up if a value to fill it with was named.
Values batches_of(Maker& maker, const Value& value, int64_t size, const Value& fill) {
  Values batches, now;
  for (Value& each : all_of(maker, value)) {
    if (std::ssize(now) == size) batches.push_back(maker.list(std::exchange(now, {})));
    now.push_back(std::move(each));
  }
  if (now.empty()) return batches;
  if (!fill.is_none()) {
    maker.require_room(static_cast<size_t>(std::clamp<int64_t>(size, 0, Account::kMostText)) * sizeof(Value));
    while (std::ssize(now) < size) now.push_back(fill);
  }
  batches.push_back(maker.list(std::move(now)));
  return batches;
}

// Batches are made when the result is first read, as Jinja's generators are.
Value batch(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `batch`", {"linecount", "fill_with"}, 1);
  return made_later(value, [&maker, value, size = taken.whole(0), fill = taken.or_none(1)] {
    return batches_of(maker, value, size, fill);
  });
}

Values slices_of(Maker& maker, const Value& value, int64_t count, const Value& fill) {
  if (count == 0) fail("the filter `slice` into 0 parts");
  const Values all = all_of(maker, value);
  // The longer parts come first, and the fill makes the others as long. A negative count makes no part.
  const int64_t each = std::ssize(all) / std::max<int64_t>(count, 1),
                longer = std::ssize(all) % std::max<int64_t>(count, 1);
  Values parts;
  auto at = all.begin();
  for (int64_t i = 0; i < count; ++i) {
    maker.work(1);
    const auto end = at + each + (i < longer ? 1 : 0);
    Values part(at, end);
    if (!fill.is_none() && i >= longer) part.push_back(fill);
    parts.push_back(maker.list(std::move(part)));
    at = end;
  }
  return parts;
}

Value slices(Maker& maker, const Value& value, const Arguments& arguments) {
  const Taken taken(arguments, "the filter `slice`", {"slices", "fill_with"}, 1);
  return made_later(value, [&maker, value, count = taken.whole(0), fill = taken.or_none(1)] {
    return slices_of(maker, value, count, fill);
  });
}

Arguments without_first(const Arguments& arguments, size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

// A lazy list, as in Jinja: an attribute of each item, or a filter applied to each item. The work of each item is
// counted when it is asked for.
Value map(Maker& maker, const Value& value, const Arguments& arguments) {
  if (!is_true(value)) return generator([](Value&) { return false; }, 0);
  // Nothing is read from the source before the first value of the result is wanted.
  const Iterator source = later(maker, value);
  if (arguments.positional.empty()) {
    const Taken taken(arguments, "the filter `map`", {"", "attribute", "default"});
    if (!taken.has(1)) fail("the filter `map` without a filter");
    const KeyOf key(maker, taken.at(1), true, taken.or_none(2));
    return generator(
        [source, key](Value& out) {
          if (!source(out)) return false;
          out = key(out);
          return true;
        },
        value.nesting());
  }
  if (!arguments.positional[0].string()) fail("the filter `map` without the name of a filter");
  const Filter filter = required_filter(arguments.positional[0].bytes());
  return generator(
      [&maker, source, filter, rest = without_first(arguments, 1)](Value& out) {
        maker.work(1);
        if (!source(out)) return false;
        if (out.string()) maker.work_on(out.bytes().size());
        out = filter(maker, out, rest);
        return true;
      },
      value.nesting());
}

// `select`, `reject` and their forms for attributes are one loop: an element passes if its test, or its truth without
// one, is the wanted answer.
template <bool by_attribute, bool wanted>
Value select(Maker& maker, const Value& value, const Arguments& arguments) {
  constexpr size_t kFirst = by_attribute ? 1 : 0;
  if (!is_true(value)) return generator([](Value&) { return false; }, 0);
  if (arguments.positional.size() < kFirst) fail("a filter by attribute without its name");
  const Iterator source = later(maker, value);
  Test test = nullptr;
  Arguments rest;
  if (arguments.positional.size() > kFirst) {
    if (!arguments.positional[kFirst].string()) fail("a filter without the name of a test");
    test = required_test(arguments.positional[kFirst].bytes());
    rest = without_first(arguments, kFirst + 1);
  }
  const Value path = by_attribute ? arguments.positional[0] : Value();
  return generator(
      [&maker, source, test, rest, path](Value& out) {
        while (source(out)) {
          maker.work(2);
          const Value looked_at = by_attribute ? item_by_path(maker, out, path) : out;
          if ((test ? test(maker, looked_at, rest) : is_true(looked_at)) == wanted) return true;
        }
        return false;
      },
      value.nesting());
}

}  // namespace

// The filters of this file by name. `d` and `count` are Jinja's short names.
Filter list_filter(std::string_view name) {
  static const std::map<std::string_view, Filter> table = {
      {"attr", attr},
      {"batch", batch},
      {"count", length},
      {"d", otherwise},
      {"default", otherwise},
      {"dictsort", dictsort},
      {"first", first},
      {"groupby", groupby},
      {"items", items},
      {"last", last},
      {"length", length},
      {"list", list},
      {"map", map},
      {"max", extreme<true>},
      {"min", extreme<false>},
      {"reject", select<false, false>},
      {"rejectattr", select<true, false>},
      {"reverse", reverse},
      {"select", select<false, true>},
      {"selectattr", select<true, true>},
      {"slice", slices},
      {"sort", sort},
      {"sum", sum},
      {"unique", unique},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace tandem::chat
