// The objects of templates that are no plain values: ranges, views of dicts, generators, functions, namespaces.
#pragma once

#include <map>

#include "engine/model/chat_template/value.h"

namespace tandem::chat {

struct Range : Object {
  int64_t start = 0, stop = 0, step = 1;
  const char* type() const override { return "range"; }
  int64_t count() const {
    if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
    return start > stop ? (start - stop - 1) / -step + 1 : 0;
  }
  Integer at(int64_t index) const { return start + index * step; }
};

// `keys()`, `values()` and `items()`.
struct DictView : Object {
  enum class Part { keys, values, items };
  Value dict;
  Part part = Part::keys;
  const char* type() const override {
    return part == Part::keys ? "dict_keys" : part == Part::values ? "dict_values" : "dict_items";
  }
  int nesting() const override { return dict.nesting() + 1; }
};

// What `map`, `select` and others return: gives each value once, when it is asked for.
struct Generator : Object {
  Iterator next;
  int depth = 1;
  const char* name = "generator";
  const char* type() const override { return name; }
  int nesting() const override { return depth; }
};

struct Function : Object {
  std::string name;
  std::function<Value(Maker&, const Arguments&)> call;
  int depth = 1;
  const char* type() const override { return "builtin_function_or_method"; }
  int nesting() const override { return depth; }
};

struct Namespace : Object {
  std::vector<std::pair<std::string, Value>> fields;  // in the order in which they were set
  const char* type() const override { return "Namespace"; }
  const Value* find(std::string_view name) const {
    for (const auto& [key, value] : fields)
      if (key == name) return &value;
    return nullptr;
  }
  void set(std::string_view name, Value value) {
    for (auto& [key, old] : fields)
      if (key == name) return static_cast<void>(old = std::move(value));
    fields.emplace_back(name, std::move(value));
  }
};

struct Cycler : Object {
  Values items;
  size_t at = 0;
  const char* type() const override { return "Cycler"; }
  int nesting() const override { return kMostNesting; }
};

struct Joiner : Object {
  Value separator;
  bool is_used = false;
  const char* type() const override { return "Joiner"; }
};

// Something with attributes of its own: a loop, a macro. Found by name; null: it has none of that name.
struct WithAttributes : Object {
  virtual std::optional<Value> attribute(Maker& maker, std::string_view name) = 0;
};
// Something that can be called and needs more than its arguments: a macro, a recursive loop.
struct Callable : WithAttributes {
  virtual Value call(Arguments arguments) = 0;
};

// nesting: of the values that the function keeps.
Value function(std::string name, std::function<Value(Maker&, const Arguments&)> call, int nesting = 0);
Value generator(Iterator next, int nesting, const char* type = "generator");

}  // namespace tandem::chat
