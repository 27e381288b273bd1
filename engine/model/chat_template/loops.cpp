// The variable `loop`, and macros as values.
#include <algorithm>

#include "engine/model/chat_template/access.h"
#include "engine/model/chat_template/arguments.h"
#include "engine/model/chat_template/comparing.h"
#include "engine/model/chat_template/interpreter.h"

namespace tandem::chat {
namespace {

// A function of a loop does not keep the loop, which may hold that function.
std::shared_ptr<Loop> living(const std::weak_ptr<Loop>& loop) {
  auto alive = loop.lock();
  if (!alive) fail_unknown("a function of a loop that has ended");
  return alive;
}

}  // namespace

// A value that look_ahead() has read already comes first.
bool Loop::next(Value& value) {
  if (after) {
    value = *std::exchange(after, std::nullopt);
  } else if (!source(value)) {
    return false;
  }
  ++index;
  before = std::exchange(current, value);
  return true;
}

// Reading ahead happens only if a template asks, because a generator does its work when it is read.
bool Loop::look_ahead() {
  if (after) return true;
  Value value;
  if (source(value)) after = value;
  return after.has_value();
}

// A source without a length is read to its end.
int64_t Loop::count(Maker& maker) {
  if (known_count) return *known_count;
  auto rest = std::make_shared<Values>();
  for (Value each; source(each);) {
    maker.work(1);
    rest->push_back(each);
    if (rest->size() % 4096 == 0) maker.require_room(rest->capacity() * sizeof(Value));
  }
  // The values that were read for the count are the source from here on.
  source = [rest, at = size_t{0}](Value& out) mutable {
    if (at >= rest->size()) return false;
    out = (*rest)[at++];
    return true;
  };
  known_count = std::ssize(*rest) + index + 1 + (after ? 1 : 0);
  return *known_count;
}

// A recursive loop runs its own body again on other values.
Value Loop::call(Arguments arguments) {
  const Taken taken(arguments, "loop()", {"iterable"}, 1);
  if (!node.is_recursive) fail("loop() in a loop that is not `recursive`");
  return owner.repeat_loop(*this, taken.at(0));
}

// Attributes of `loop`. `last` and `nextitem` look one item ahead; `length` and `revindex` count all items, which a
// generator has to be read for. `cycle` and `changed` are functions that keep only a weak reference.
std::optional<Value> Loop::attribute(Maker& maker, std::string_view name) {
  const auto number = [](int64_t value) { return Value(Integer(value)); };
  if (name == "index") return number(index + 1);
  if (name == "index0") return number(index);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(!look_ahead());
  if (name == "length") return number(count(maker));
  if (name == "revindex") return number(count(maker) - index);
  if (name == "revindex0") return number(count(maker) - index - 1);
  if (name == "depth") return number(depth + 1);
  if (name == "depth0") return number(depth);
  if (name == "previtem") return index == 0 ? maker.undefined("there is no previous item") : before.value_or(Value());
  if (name == "nextitem") return look_ahead() ? *after : maker.undefined("there is no next item");
  if (name == "__repr__")
    return maker.string("<LoopContext " + std::to_string(index + 1) + "/" + std::to_string(count(maker)) + ">");
  if (name == "cycle")
    return function("cycle", [weak = self](Maker&, const Arguments& given) {
      if (given.positional.empty()) fail("loop.cycle() without values");
      return given.positional[static_cast<size_t>(living(weak)->index) % given.positional.size()];
    });
  if (name == "changed")
    return function("changed", [weak = self](Maker& own, const Arguments& given) {
      const auto loop = living(weak);
      if (loop->last_changed && equal_values(own, *loop->last_changed, given.positional)) return Value(false);
      loop->last_changed = given.positional;
      return Value(true);
    });
  return std::nullopt;
}

// Attributes of a macro describe its parameters. `__repr__` is what printing a macro shows.
std::optional<Value> Macro::attribute(Maker& maker, std::string_view name) {
  const bool is_macro = node.kind == Statement::Kind::macro;
  if (name == "__repr__") return maker.string(is_macro ? "<Macro '" + *node.name + "'>" : "<Macro anonymous>");
  if (name == "name") return is_macro ? maker.string(*node.name) : Value();
  if (name == "arguments") {
    Values names;
    for (const auto& parameter : node.parameters) names.push_back(maker.string(*parameter.name));
    return maker.tuple(std::move(names));
  }
  if (name == "catch_kwargs") return Value(node.takes_named_rest);
  if (name == "catch_varargs") return Value(node.takes_rest);
  if (name == "caller") return Value(node.takes_caller);
  return std::nullopt;
}

}  // namespace tandem::chat
