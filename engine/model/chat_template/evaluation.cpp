// The interpreter's expressions.
#include <algorithm>

#include "engine/model/chat_template/access.h"
#include "engine/model/chat_template/comparing.h"
#include "engine/model/chat_template/interpreter.h"
#include "engine/model/chat_template/library.h"
#include "engine/model/chat_template/printing.h"

namespace tandem::chat {
namespace {

// The account's estimate of a loop that outlives its statement.
constexpr size_t kBytesOfLoop = 512;

}  // namespace

// Each kind is a function of its own, so that this one needs little of the stack.
Value Interpreter::evaluate(const Expression& expression) {
  using Kind = Expression::Kind;
  maker_.work(1);
  line_ = expression.line;
  switch (expression.kind) {
    case Kind::constant:
      return expression.value;
    case Kind::name:
      return kept_name(expression);
    case Kind::list:
    case Kind::tuple:
      return sequence(expression);
    case Kind::dict:
      return dict(expression);
    case Kind::choice:
      return choice(expression);
    case Kind::logical_or:
    case Kind::logical_and:
      return logical(expression);
    case Kind::logical_not:
      return !is_true(evaluate(*expression.parts[0]));
    case Kind::compare:
      return compare(expression);
    case Kind::compute:
      return compute(expression);
    case Kind::concat:
      return concat(expression);
    case Kind::minus:
      return negated(evaluate(*expression.parts[0]));
    case Kind::plus:
      return unchanged(evaluate(*expression.parts[0]));
    case Kind::attribute:
      return attribute_of(expression);
    case Kind::item:
    case Kind::slice:
      return item_or_slice(expression);
    case Kind::call:
      return call(expression);
    case Kind::filter:
      return filter(expression);
    case Kind::test:
      return test(expression);
  }
  return {};
}

Value Interpreter::evaluate_or_none(const ExpressionPtr& expression) {
  return expression ? evaluate(*expression) : Value();
}

// A loop that becomes a value may be kept by a namespace, and hold one itself.
Value Interpreter::kept_name(const Expression& expression) {
  Value value = name(expression);
  if (auto* loop = value.object<Loop>(); loop && !std::exchange(loop->is_kept, true)) {
    maker_.account().hold(kBytesOfLoop);
    kept_loops_.push_back(value);
  }
  return value;
}

// Items are evaluated from left to right, each once.
Value Interpreter::sequence(const Expression& expression) {
  const Level level(*this);
  Values items;
  items.reserve(expression.parts.size());
  for (const auto& part : expression.parts) items.push_back(evaluate(*part));
  return maker_.list(std::move(items),
                     expression.kind == Expression::Kind::list ? Sequence::Kind::list : Sequence::Kind::tuple);
}

// Values stand in the order key, value, key, value. A later entry replaces an earlier one of an equal key.
Value Interpreter::dict(const Expression& expression) {
  const Level level(*this);
  std::vector<std::pair<Value, Value>> entries;
  for (size_t i = 0; i + 1 < expression.parts.size(); i += 2) {
    Value key = evaluate(*expression.parts[i]);
    entries.emplace_back(std::move(key), evaluate(*expression.parts[i + 1]));
  }
  return maker_.dict(std::move(entries));
}

// `a if test else b`. Only the branch that is chosen is evaluated.
Value Interpreter::choice(const Expression& expression) {
  const Level level(*this);
  if (is_true(evaluate(*expression.parts[1]))) return evaluate(*expression.parts[0]);
  if (expression.parts[2]) return evaluate(*expression.parts[2]);
  return maker_.undefined("the `if` without `else` on line " + std::to_string(expression.line) + " has no value");
}

// `and` and `or` give one of their sides, and the right one is evaluated only if the left one does not decide.
Value Interpreter::logical(const Expression& expression) {
  const Level level(*this);
  Value left = evaluate(*expression.parts[0]);
  const bool decides = is_true(left) == (expression.kind == Expression::Kind::logical_or);
  return decides ? left : evaluate(*expression.parts[1]);
}

// Each comparison is made of equality and of one order, with the sides swapped where needed.
bool Interpreter::holds(Expression::Comparison comparison, const Value& a, const Value& b) {
  using Comparison = Expression::Comparison;
  switch (comparison) {
    case Comparison::equal:
      return equal(maker_, a, b);
    case Comparison::unequal:
      return !equal(maker_, a, b);
    case Comparison::less:
      return less(maker_, a, b);
    case Comparison::less_equal:
      return less(maker_, a, b) || equal(maker_, a, b);
    case Comparison::greater:
      return less(maker_, b, a);
    case Comparison::greater_equal:
      return less(maker_, b, a) || equal(maker_, a, b);
    case Comparison::in:
      return contains(maker_, b, a);
    case Comparison::not_in:
      return !contains(maker_, b, a);
  }
  return false;
}

// A chain a < b < c holds if each neighbouring pair does. Every part is evaluated once at most.
bool Interpreter::compare(const Expression& expression) {
  const Level level(*this);
  Value left = evaluate(*expression.parts[0]);
  for (size_t i = 0; i < expression.comparisons.size(); ++i) {
    Value right = evaluate(*expression.parts[i + 1]);
    maker_.work(left.sequence() || left.dict() ? 16 : 0);
    if (!holds(expression.comparisons[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::compute(const Expression& expression) {
  const Level level(*this);
  const Value left = evaluate(*expression.parts[0]);
  const Value right = evaluate(*expression.parts[1]);
  // The line is set again because the parts may have come from other lines. A Fault then names the operator's line.
  line_ = expression.line;
  return computed(maker_, expression.what, left, right);
}

// The operator ~ prints its parts one behind the other.
Value Interpreter::concat(const Expression& expression) {
  const Level level(*this);
  Text text;
  for (const auto& part : expression.parts) {
    const Text more = printed(maker_, evaluate(*part));
    maker_.require_room(text.size() + more.size());
    text.append(more);
  }
  return maker_.string(std::move(text));
}

// `loop.index` and the like need no value of the loop itself.
Value Interpreter::attribute_of(const Expression& expression) {
  const Level level(*this);
  const Expression& of = *expression.parts[0];
  const Value value = of.kind == Expression::Kind::name ? name(of) : evaluate(of);
  line_ = expression.line;
  return attribute(maker_, value, expression.text);
}

// A part of a slice that is left out is none, which means the end on that side.
Value Interpreter::item_or_slice(const Expression& expression) {
  const Level level(*this);
  const Value value = evaluate(*expression.parts[0]);
  if (expression.kind == Expression::Kind::item) {
    const Value key = evaluate(*expression.parts[1]);
    return item(maker_, value, key);
  }
  const Value begin = evaluate_or_none(expression.parts[1]), end = evaluate_or_none(expression.parts[2]);
  return slice(maker_, value, begin, end, evaluate_or_none(expression.parts[3]));
}

// The order is Jinja's: places, names, then the elements of `*` and the entries of `**`. A name that comes twice
// is an error.
Arguments Interpreter::arguments_of(const CallArguments& arguments) {
  Arguments result;
  for (const auto& each : arguments.positional) result.positional.push_back(evaluate(*each));
  for (const auto& [name, each] : arguments.named) {
    if (std::ranges::find(result.named, name, &std::pair<std::string, Value>::first) != result.named.end())
      fail("two values for the argument `" + name + "`");
    result.named.emplace_back(name, evaluate(*each));
  }
  if (arguments.list)
    for (Value& each : all_of(maker_, evaluate(*arguments.list))) result.positional.push_back(std::move(each));
  if (!arguments.dict) return result;
  const Value more = evaluate(*arguments.dict);
  if (!more.dict()) fail(std::string("`**` before a ") + more.type());
  for (const auto& [key, value] : more.dict()->entries) {
    if (!key.string()) fail("`**` before a dict with a key that is no text");
    if (std::ranges::find(result.named, key.bytes(), &std::pair<std::string, Value>::first) != result.named.end())
      fail("two values for the argument `" + key.bytes() + "`");
    result.named.emplace_back(key.bytes(), value);
  }
  return result;
}

// The object of a `call` block reaches the macro as the argument `caller`.
Value Interpreter::call(const Expression& expression, const Value* caller) {
  const Level level(*this);
  const Expression& of = *expression.parts[0];
  const Value callee = of.kind == Expression::Kind::name ? name(of) : evaluate(of);
  Arguments arguments = arguments_of(expression.arguments);
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  line_ = expression.line;
  return chat::call(maker_, callee, std::move(arguments));
}

// A filter without a value in front stands in a block. Its value is the text that the block has caught.
Value Interpreter::filter(const Expression& expression) {
  const Level level(*this);
  const Value value = expression.parts[0] ? evaluate(*expression.parts[0]) : *block_text_;
  line_ = expression.line;
  const Filter known = required_filter(expression.text);
  const Arguments arguments = arguments_of(expression.arguments);
  line_ = expression.line;
  maker_.work(2);
  if (value.string()) maker_.work_on(value.bytes().size());
  return known(maker_, value, arguments);
}

// A test is known by name before its arguments are evaluated, so an unknown one is the error that is shown.
bool Interpreter::test(const Expression& expression) {
  const Level level(*this);
  const Value value = evaluate(*expression.parts[0]);
  line_ = expression.line;
  const Test known = required_test(expression.text);
  const Arguments arguments = arguments_of(expression.arguments);
  line_ = expression.line;
  if (value.string()) maker_.work_on(value.bytes().size());
  return known(maker_, value, arguments);
}

}  // namespace tandem::chat
