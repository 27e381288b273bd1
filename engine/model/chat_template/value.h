// A value of a chat template, as Python would have it: none, truth, numbers, text, lists, tuples, dicts and objects.
//
// Contract: values do not change, except for a namespace, which all of its copies share. Keys of a dict keep their
// order. Values nest at most kMostNesting deep, so that walking through one needs little of the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/model/chat_template/account.h"
#include "engine/model/chat_template/integer.h"
#include "engine/model/chat_template/text.h"

namespace tandem::chat {

inline constexpr int kMostNesting = 300;

class Value;
struct None {
  bool operator==(const None&) const = default;
};
// Printing it gives nothing; most other uses are a Fault with this message.
struct Undefined {
  std::string message;
};
struct String {
  Text text;
  size_t characters = 0;
  bool is_safe = false;  // marked by `safe`: `+` escapes what it is joined with
  Charge charge{};
};
struct Sequence {
  enum class Kind { list, tuple, group };  // group: a tuple of groupby
  Kind kind = Kind::list;
  std::vector<Value> items;
  int nesting = 1;
  Charge charge{};
};
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  std::unordered_map<std::string, size_t> places;  // by key_of()
  int nesting = 1;
  Charge charge{};
};
// Everything else: ranges, generators, functions, macros, namespaces, loops.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  virtual const char* type() const = 0;  // Python's name of the type
  virtual int nesting() const { return 1; }
};

class Value {
 public:
  using Of = std::variant<None, std::shared_ptr<const Undefined>, bool, Integer, double, std::shared_ptr<const String>,
                          std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, std::shared_ptr<Object>>;

  Value() = default;                 // none
  Value(bool truth) : of_(truth) {}  // NOLINT: these types are values
  Value(double number) : of_(number) {}
  Value(Integer number) : of_(std::move(number)) {}
  template <typename T>
  Value(std::shared_ptr<T> body) : of_(std::move(body)) {}
  Value(const char*) = delete;  // would become a bool

  bool is_none() const { return std::holds_alternative<None>(of_); }
  const bool* truth() const { return std::get_if<bool>(&of_); }
  const Integer* whole() const { return std::get_if<Integer>(&of_); }
  const double* real() const { return std::get_if<double>(&of_); }
  const Undefined* undefined() const { return body<const Undefined>(); }
  const String* string() const { return body<const String>(); }
  const Sequence* sequence() const { return body<const Sequence>(); }
  const Dict* dict() const { return body<const Dict>(); }
  template <typename T = Object>
  T* object() const {
    Object* const any = body<Object>();
    return any == nullptr ? nullptr : dynamic_cast<T*>(any);
  }
  const Sequence* list() const { return sequence() && sequence()->kind == Sequence::Kind::list ? sequence() : nullptr; }

  // A number or a truth value as a whole number; Python counts true as 1.
  std::optional<Integer> as_whole() const;
  const std::string& bytes() const { return string()->text.bytes(); }  // of a string
  const char* type() const;                                            // Python's name: "str"
  int nesting() const;
  const Of& of() const { return of_; }

 private:
  template <typename T>
  T* body() const {
    const auto* pointer = std::get_if<std::shared_ptr<T>>(&of_);
    return pointer == nullptr ? nullptr : pointer->get();
  }
  Of of_;
};

using Values = std::vector<Value>;

// The next value, if there is one.
using Iterator = std::function<bool(Value&)>;

struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Makes values, and keeps the account of a rendering.
class Maker {
 public:
  explicit Maker(Account& account) : account_(account) {}

  void work(size_t units) { account_.work(units); }
  void work_on(size_t bytes) { account_.work(bytes / Account::kBytesOfUnit); }
  void require_room(size_t bytes) { account_.require_room(bytes); }
  Account& account() { return account_; }

  Value string(Text text, bool is_safe = false);
  Value string(std::string bytes, Author author = Author::chat_template);
  Value list(Values items, Sequence::Kind kind = Sequence::Kind::list);
  Value tuple(Values items) { return list(std::move(items), Sequence::Kind::tuple); }
  // Later values of a key replace earlier ones, in their places. Fault: a key that cannot be one.
  Value dict(std::vector<std::pair<Value, Value>> entries);
  Value undefined(std::string message);

 private:
  Account& account_;
};

// The same text for keys that Python holds for equal (1, 1.0 and true); absent for lists and dicts.
std::optional<std::string> key_of(const Value& value);
const Value* find(Maker& maker, const Dict& dict, const Value& key);  // null: absent. Fault: the key cannot be one
const Value* find_key(const Dict& dict, std::string_view key);

}  // namespace tandem::chat
