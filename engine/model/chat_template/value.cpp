// Values of templates and how they are made. Values never change, so they share their parts freely. Each one is charged
// to an account that bounds the memory of a rendering.
#include "engine/model/chat_template/value.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/model/chat_template/characters.h"

namespace tandem::chat {
namespace {

constexpr size_t kBytesOfBody = 64;  // of a value's own fields

// Depth is checked when a value is made. So walks over values can recurse without a check.
int nesting_above(int inner) {
  if (inner >= kMostNesting) fail_too_large("values that are nested too deeply");
  return inner + 1;
}

// The places of a small dict's keys are found by comparing, so the text of a key is made for each.
std::string required_key(const Value& value) {
  std::optional<std::string> key = key_of(value);
  if (!key) fail(std::string("a ") + value.type() + " cannot be the key of a dict");
  return std::move(*key);
}

}  // namespace

std::optional<Integer> Value::as_whole() const {
  if (whole() != nullptr) return *whole();
  if (truth() != nullptr) return Integer(*truth() ? 1 : 0);
  return std::nullopt;
}

// Python's names of types, which messages show.
const char* Value::type() const {
  if (is_none()) return "NoneType";
  if (undefined()) return "Undefined";
  if (truth()) return "bool";
  if (whole()) return "int";
  if (real()) return "float";
  if (string()) return string()->is_safe ? "Markup" : "str";
  if (sequence()) return list() ? "list" : "tuple";
  if (dict()) return "dict";
  return object()->type();
}

// Numbers and texts hold nothing, so their nesting is 0.
int Value::nesting() const {
  if (sequence()) return sequence()->nesting;
  if (dict()) return dict()->nesting;
  return object() ? object()->nesting() : 0;
}

// The account holds a value's memory for as long as the value lives.
Value Maker::string(Text text, bool is_safe) {
  const size_t bytes = text.footprint();
  work_on(bytes);
  auto body = std::make_shared<String>(String{std::move(text), 0, is_safe, Charge(account_, bytes + kBytesOfBody)});
  body->characters = count_characters(body->text.bytes());
  return std::shared_ptr<const String>(std::move(body));
}

Value Maker::string(std::string bytes, Author author) { return string(Text(std::move(bytes), author)); }

Value Maker::list(Values items, Sequence::Kind kind) {
  const size_t bytes = items.capacity() * sizeof(Value);
  work_on(bytes * 4);
  int nesting = 0;
  for (const Value& each : items) nesting = std::max(nesting, each.nesting());
  return std::shared_ptr<const Sequence>(std::make_shared<Sequence>(
      Sequence{kind, std::move(items), nesting_above(nesting), Charge(account_, bytes + kBytesOfBody)}));
}

// A later value of a key takes the place of an earlier one, and the key stays as it was first written.
Value Maker::dict(std::vector<std::pair<Value, Value>> entries) {
  size_t bytes = entries.size() * (2 * sizeof(Value) + kBytesOfBody);
  int nesting = 0;
  std::vector<std::pair<Value, Value>> kept;
  std::unordered_map<std::string, size_t> places;
  for (auto& [key, value] : entries) {
    nesting = std::max({nesting, key.nesting(), value.nesting()});
    std::string name = required_key(key);
    bytes += name.size();
    const auto [at, is_new] = places.try_emplace(std::move(name), kept.size());
    if (is_new)
      kept.emplace_back(std::move(key), std::move(value));
    else
      kept[at->second].second = std::move(value);
  }
  work_on(bytes * 4);
  return std::shared_ptr<const Dict>(std::make_shared<Dict>(
      Dict{std::move(kept), std::move(places), nesting_above(nesting), Charge(account_, bytes + kBytesOfBody)}));
}

Value Maker::undefined(std::string message) {
  return std::shared_ptr<const Undefined>(std::make_shared<Undefined>(Undefined{std::move(message)}));
}

// A tuple may have the same part many times, so its key may be much larger than the tuple.
std::optional<std::string> key_of(const Value& value) {
  constexpr size_t kMostKey = size_t{1} << 20;
  if (value.string()) return "s" + value.bytes();
  // Truth values, whole numbers and reals without a fraction share one form, because Python holds 1, 1.0 and true
  // for one key.
  if (const auto whole = value.as_whole()) return "i" + whole->to_string(16);
  if (value.is_none()) return "n";
  if (value.undefined()) return "u";
  if (const double* real = value.real()) {
    if (std::isfinite(*real) && *real == std::trunc(*real)) return "i" + Integer::of(*real).to_string(16);
    char text[40];
    std::snprintf(text, sizeof text, "f%a", *real);
    return text;
  }
  if (value.object()) {
    char text[40];
    std::snprintf(text, sizeof text, "o%p", static_cast<void*>(value.object()));
    return text;
  }
  if (value.dict() || value.list()) return std::nullopt;
  std::string all = "t";
  for (const Value& each : value.sequence()->items) {
    const auto key = key_of(each);
    if (!key) return std::nullopt;
    all += std::to_string(key->size()) + ":" + *key;
    if (all.size() > kMostKey) fail_too_large("a key of more than 1 MiB");
  }
  return all;
}

// A dict keeps its order in a list, and a map leads from a key to its place.
const Value* find(Maker& maker, const Dict& dict, const Value& key) {
  if (key.string()) maker.work_on(key.bytes().size());
  const auto at = dict.places.find(required_key(key));
  return at == dict.places.end() ? nullptr : &dict.entries[at->second].second;
}

// The same for a key that is a text, without work for the account.
const Value* find_key(const Dict& dict, std::string_view key) {
  const auto at = dict.places.find("s" + std::string(key));
  return at == dict.places.end() ? nullptr : &dict.entries[at->second].second;
}

}  // namespace tandem::chat
