// Truth, equality and order of values, as Python defines them. Whole numbers and reals are compared exactly, without
// rounding one to the other.
#include "engine/model/chat_template/comparing.h"

#include <algorithm>
#include <cmath>

#include "engine/model/chat_template/access.h"
#include "engine/model/chat_template/methods.h"
#include "engine/model/chat_template/objects.h"

namespace tandem::chat {
namespace {

// A whole number and a double, compared without rounding.
std::partial_ordering ordered(const Integer& a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (std::isinf(b)) return b > 0 ? std::partial_ordering::less : std::partial_ordering::greater;
  const double down = std::floor(b);
  const auto by_whole = a <=> Integer::of(down);
  return by_whole == 0 && down != b ? std::partial_ordering::less : std::partial_ordering(by_whole);
}

std::partial_ordering reversed(std::partial_ordering order) { return 0 <=> order; }

// Absent if one of them is no number.
std::optional<std::partial_ordering> by_number(const Value& a, const Value& b) {
  const auto left = a.as_whole(), right = b.as_whole();
  if (left && right) return *left <=> *right;
  if (left && b.real()) return ordered(*left, *b.real());
  if (a.real() && right) return reversed(ordered(*right, *a.real()));
  if (a.real() && b.real()) return *a.real() <=> *b.real();
  return std::nullopt;
}

// Two texts of different sizes differ, which costs no work.
bool equal_texts(Maker& maker, const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  maker.work_on(a.size());
  return a == b;
}

// Two dicts are equal whatever the order of their keys.
bool equal_dicts(Maker& maker, const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::ranges::all_of(a.entries, [&](const auto& entry) {
    const Value* other = find(maker, b, entry.first);
    return other != nullptr && equal(maker, entry.second, *other);
  });
}

}  // namespace

// Empty values, zero and none are false in Python, and everything else is true.
bool is_true(const Value& value) {
  if (value.is_none() || value.undefined()) return false;
  if (value.truth()) return *value.truth();
  if (value.whole()) return !value.whole()->is_zero();
  if (value.real()) return *value.real() != 0;
  if (value.string()) return !value.bytes().empty();
  if (value.sequence()) return !value.sequence()->items.empty();
  if (value.dict()) return !value.dict()->entries.empty();
  if (const auto* range = value.object<Range>()) return range->count() > 0;
  if (const auto* view = value.object<DictView>()) return !view->dict.dict()->entries.empty();
  return true;
}

bool equal_values(Maker& maker, const Values& a, const Values& b) {
  return std::ranges::equal(a, b, [&maker](const Value& x, const Value& y) { return equal(maker, x, y); });
}

// Numbers and booleans compare by value, whatever their types. Texts, lists, tuples and dicts compare by content, and a
// list never equals a tuple. Ranges are equal if they give the same numbers. Any other object equals itself alone.
bool equal(Maker& maker, const Value& a, const Value& b) {
  maker.work(1);
  if (const auto order = by_number(a, b)) return *order == 0;
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.undefined() || b.undefined()) return a.undefined() && b.undefined();
  if (a.string() && b.string()) return equal_texts(maker, a.bytes(), b.bytes());
  if (a.sequence() && b.sequence()) {
    const auto &left = a.sequence()->items, &right = b.sequence()->items;
    if ((a.list() != nullptr) != (b.list() != nullptr)) return false;
    return equal_values(maker, left, right);
  }
  if (a.dict() && b.dict()) return equal_dicts(maker, *a.dict(), *b.dict());
  const auto *range = a.object<Range>(), *other = b.object<Range>();
  if (range && other) {
    const int64_t count = range->count();
    return count == other->count() && (count == 0 || range->start == other->start) &&
           (count < 2 || range->step == other->step);
  }
  if (a.object<DictView>() && b.object<DictView>() && a.object() != b.object())
    fail_unknown("the comparison of two views of dicts");
  return a.object() != nullptr && a.object() == b.object();
}

// Python compares addresses. Numbers and texts may or may not share one there.
bool same(const Value& a, const Value& b) {
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.truth() || b.truth()) return a.truth() && b.truth() && *a.truth() == *b.truth();
  if (a.of().index() != b.of().index()) return false;
  if (a.sequence()) return a.sequence() == b.sequence();
  if (a.dict()) return a.dict() == b.dict();
  if (a.object()) return a.object() == b.object();
  if (a.undefined()) return a.undefined() == b.undefined();
  fail_unknown("the test `sameas` of two numbers or texts");
}

// Lists compare by their first different elements, and by their lengths if there are none.
bool less(Maker& maker, const Value& a, const Value& b) {
  maker.work(1);
  if (a.undefined()) fail(a.undefined()->message);
  if (b.undefined()) fail(b.undefined()->message);
  if (const auto order = by_number(a, b)) return *order < 0;
  if (a.string() && b.string()) {
    maker.work_on(std::min(a.bytes().size(), b.bytes().size()));
    return a.bytes() < b.bytes();  // UTF-8 has the order of code points
  }
  if (a.sequence() && b.sequence() && (a.list() != nullptr) == (b.list() != nullptr)) {
    const auto &left = a.sequence()->items, &right = b.sequence()->items;
    const auto [i, j] =
        std::ranges::mismatch(left, right, [&maker](const Value& x, const Value& y) { return equal(maker, x, y); });
    if (i == left.end() || j == right.end()) return left.size() < right.size();
    return less(maker, *i, *j);
  }
  if (a.object<DictView>() && b.object<DictView>()) fail_unknown("the comparison of two views of dicts");
  fail(std::string("a ") + a.type() + " and a " + b.type() + " have no order");
}

// `in` finds a part of a text, a key of a dict, or an equal element. A generator is read up to that element.
bool contains(Maker& maker, const Value& whole, const Value& part) {
  if (whole.string()) {
    if (!part.string()) fail(std::string("`in` a text needs a text, not a ") + part.type());
    return find_text(maker, whole.bytes(), part.bytes()) != std::string::npos;
  }
  if (whole.dict()) return find(maker, *whole.dict(), part) != nullptr;
  if (const auto* view = whole.object<DictView>(); view && view->part == DictView::Part::keys)
    return find(maker, *view->dict.dict(), part) != nullptr;
  const Iterator next = iterate(maker, whole);
  for (Value each; next(each);) {
    maker.work(1);
    if (equal(maker, each, part)) return true;
  }
  return false;
}

}  // namespace tandem::chat
