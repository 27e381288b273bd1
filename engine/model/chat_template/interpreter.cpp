// Runs the statements of a template. Scopes, loops and macros are those of Jinja. Each step counts against an account,
// so that no template runs for ever.
#include "engine/model/chat_template/interpreter.h"

#include <algorithm>

#include "engine/model/chat_template/access.h"
#include "engine/model/chat_template/comparing.h"
#include "engine/model/chat_template/library.h"
#include "engine/model/chat_template/printing.h"

namespace tandem::chat {
namespace {

constexpr size_t kBytesKept = 512;  // of what lives until the rendering ends
constexpr size_t kPrintedPiece = size_t{1} << 16;

}  // namespace

// A scope within the present one, for as long as it lives.
class Interpreter::Inner {
 public:
  // Names that the block sets are hidden at first, because Jinja decides scopes before it runs.
  Inner(Interpreter& interpreter, const std::shared_ptr<Scope>& outer, const std::vector<Name>& hidden)
      : interpreter_(interpreter), before_(std::move(interpreter.scope_)) {
    interpreter_.scope_ = std::make_shared<Scope>();
    interpreter_.scope_->outer = outer ? outer : before_;
    for (const Name name : hidden) interpreter_.scope_->values.emplace_back(name, interpreter_.missing(name));
  }
  Inner(Interpreter& interpreter, const std::vector<Name>& hidden) : Inner(interpreter, nullptr, hidden) {}
  ~Inner() { interpreter_.scope_ = std::move(before_); }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

 private:
  Interpreter& interpreter_;
  std::shared_ptr<Scope> before_;
};

// Catches what is printed while it lives.
class Interpreter::Caught {
 public:
  explicit Caught(Interpreter& interpreter) : interpreter_(interpreter), before_(interpreter.out_) {
    interpreter_.out_ = &text_;
  }
  ~Caught() { interpreter_.out_ = before_; }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;
  Value take() { return interpreter_.maker_.string(std::move(text_)); }

 private:
  Interpreter& interpreter_;
  Text* const before_;
  Text text_;
};

Interpreter::Interpreter(const Tree& tree, Maker& maker, const std::tm& now)
    : tree_(tree), maker_(maker), now_(now), scope_(std::make_shared<Scope>()) {}

// Namespaces, scopes and loops may refer to each other in circles.
Interpreter::~Interpreter() {
  for (const auto& each : namespaces_) each->fields.clear();
  for (const auto& each : kept_scopes_) each->values.clear();
  for (const Value& each : kept_loops_) {
    auto* loop = each.object<Loop>();
    loop->before.reset();
    loop->current.reset();
    loop->after.reset();
    loop->last_changed.reset();
    loop->source = nullptr;
  }
}

// Only names that the template has are kept, so unknown variables of a conversation cost nothing.
void Interpreter::set(std::string_view name, Value value) {
  const auto known = tree_.names.find(name);  // a name that the template does not have makes no difference
  if (known != tree_.names.end()) scope_->set(&*known, std::move(value));
}

// The begin of the stack is taken here. Each level compares with it how deep the recursion is.
Text Interpreter::run() {
  stack_begin_ = __builtin_frame_address(0);
  Text text;
  out_ = &text;
  const Inner root(*this, tree_.hidden);
  execute(tree_.body);
  return text;
}

// A statement that leaves a loop ends the blocks around it, up to the loop.
Interpreter::Flow Interpreter::execute(const Block& block) {
  const Level level(*this);
  for (const auto& statement : block) {
    const Flow flow = execute(*statement);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

// Each kind is a function of its own, which keeps this frame small: templates recurse through it.
Interpreter::Flow Interpreter::execute(const Statement& statement) {
  using Kind = Statement::Kind;
  maker_.work(1);
  line_ = statement.line;
  switch (statement.kind) {
    case Kind::output:
      output(statement);
      return Flow::normal;
    case Kind::set:
      assign(statement.targets[0], evaluate(*statement.values[0]));
      return Flow::normal;
    case Kind::set_block:
      return set_block(statement);
    case Kind::loop:
      return loop(statement);
    case Kind::choice:
      return choose(statement);
    case Kind::macro:
      scope_->set(statement.name, make_macro(statement));
      return Flow::normal;
    case Kind::call_block:
      call_block(statement);
      return Flow::normal;
    case Kind::filter_block:
      return filter_block(statement);
    case Kind::with:
      return with(statement);
    case Kind::generation:
      generation(statement);
      return Flow::normal;
    case Kind::leave:
      return Flow::leave;
    case Kind::go_on:
      return Flow::go_on;
    case Kind::unknown:
      break;
  }
  fail_unknown("the statement `" + statement.text + "`");
}

void Interpreter::output(const Statement& statement) {
  for (const auto& value : statement.values)
    print(value->kind == Expression::Kind::constant ? value->value : evaluate(*value));
}

// Printed text counts as work by pieces, so a loop that prints little does not pay for each output.
void Interpreter::print(const Value& value) {
  maker_.work(1);
  const size_t before = out_->size();
  if (value.string()) {
    maker_.require_room(before + value.bytes().size());
    out_->append(value.string()->text);
  } else {
    out_->append(printed(maker_, value));
  }
  printed_ += out_->size() - before;
  if (printed_ < kPrintedPiece) return;
  maker_.work_on(std::exchange(printed_, 0));
  maker_.require_room(out_->size());
}

// The first branch whose test is true runs. Tests behind it are not evaluated.
Interpreter::Flow Interpreter::choose(const Statement& statement) {
  for (const auto& branch : statement.branches)
    if (is_true(evaluate(*branch.test))) return execute(branch.body);
  return execute(statement.other);
}

// A loop by itself has depth 0. `loop(...)` inside it runs the same statement one level deeper.
Interpreter::Flow Interpreter::loop(const Statement& statement) {
  return run_loop(statement, evaluate(*statement.values[0]), 0);
}

// The condition is asked when a value is wanted, as in Jinja.
Iterator Interpreter::filtered(const Statement& statement, const Value& values) {
  Iterator source = iterate(maker_, values);
  if (!statement.values[1]) return source;
  return [this, &statement, source, outer = scope_](Value& out) {
    while (source(out)) {
      const Inner scope(*this, outer, {});
      assign(statement.targets[0], out);
      if (is_true(evaluate(*statement.values[1]))) return true;
    }
    return false;
  };
}

// `else` runs if no round came to its end: also if each of them was left by `continue` or `break`.
Interpreter::Flow Interpreter::run_loop(const Statement& statement, const Value& values, int depth) {
  const Level level(*this);
  line_ = statement.line;
  const auto count = statement.values[1] ? std::nullopt : length_of(values);
  const auto state = std::make_shared<Loop>(*this, statement, filtered(statement, values), count, depth);
  state->self = state;
  if (statement.is_recursive) state->scope = scope_;
  const Value variable{std::shared_ptr<Object>(state)};
  const Name name = &*tree_.names.find("loop");
  bool ended_normally = false;
  for (Value each; state->next(each);) {
    maker_.work(2);
    const Inner scope(*this, statement.hidden);
    assign(statement.targets[0], std::move(each));
    scope_->set(name, variable);
    const Flow flow = execute(statement.body);
    if (flow == Flow::leave) break;
    ended_normally = ended_normally || flow == Flow::normal;
  }
  if (ended_normally || statement.other.empty()) return Flow::normal;
  const Inner scope(*this, statement.hidden_in_other);
  return execute(statement.other);
}

// A recursive call runs the loop on other values, in the scope of the loop itself, and gives what it prints.
Value Interpreter::repeat_loop(const Loop& loop, const Value& values) {
  const Inner scope(*this, loop.scope, {});
  Caught text(*this);
  run_loop(loop.node, values, loop.depth + 1);
  return text.take();
}

// The text of a block is caught in a scope of its own, and the name is set outside of it.
Interpreter::Flow Interpreter::set_block(const Statement& statement) {
  Value value;
  {
    const Inner scope(*this, statement.hidden);
    Caught text(*this);
    const Flow flow = execute(statement.body);
    if (flow != Flow::normal) return flow;
    value = text.take();
    if (!statement.values.empty()) {
      const Value* before = std::exchange(block_text_, &value);
      Value result = evaluate(*statement.values[0]);
      block_text_ = before;
      value = std::move(result);
    }
  }
  assign(statement.targets[0], std::move(value));
  return Flow::normal;
}

// The text of the block is the value that its filter gets.
Interpreter::Flow Interpreter::filter_block(const Statement& statement) {
  const Inner scope(*this, statement.hidden);
  Value value;
  {
    Caught text(*this);
    const Flow flow = execute(statement.body);
    if (flow != Flow::normal) return flow;
    value = text.take();
  }
  const Value* before = std::exchange(block_text_, &value);
  const Value result = evaluate(*statement.values[0]);
  block_text_ = before;
  if (!result.string()) fail(std::string("a `filter` block whose filter makes a ") + result.type());
  print(result);
  return Flow::normal;
}

// All values of `with` are evaluated before its names exist, so one cannot read another.
Interpreter::Flow Interpreter::with(const Statement& statement) {
  Values values;
  for (const auto& value : statement.values) values.push_back(evaluate(*value));
  const Inner scope(*this, statement.hidden);
  for (size_t i = 0; i < values.size(); ++i) assign(statement.targets[i], std::move(values[i]));
  return execute(statement.body);
}

// The called macro's result is printed in the place of the block.
void Interpreter::call_block(const Statement& statement) {
  const Value caller = make_macro(statement);
  print(call(*statement.values[0], &caller));
}

void Interpreter::generation(const Statement& statement) {
  const Inner scope(*this, statement.hidden);
  execute(statement.body);
}

// A scope that a macro keeps may hold the macro itself. The interpreter empties such scopes in the end.
void Interpreter::keep_scope() {
  if (std::exchange(scope_->is_kept, true)) return;
  maker_.account().hold(kBytesKept);
  kept_scopes_.push_back(scope_);
}

Value Interpreter::make_macro(const Statement& statement) {
  keep_scope();
  return std::shared_ptr<Object>(std::make_shared<Macro>(*this, statement, scope_));
}

// Binds arguments to parameters as Jinja does: by place, then by name, then by default. `caller`, `kwargs` and
// `varargs` exist only in a macro whose body names them. Other arguments that are left over are an error. A default may
// read the parameters before it, so defaults are evaluated last.
Value Interpreter::call_macro(const Macro& macro, Arguments arguments) {
  const Level level(*this);
  maker_.work(4);
  const Statement& node = macro.node;
  const int line = line_;
  const auto take_named = [&arguments](std::string_view name) -> std::optional<Value> {
    const auto found = std::ranges::find(arguments.named, name, &std::pair<std::string, Value>::first);
    if (found == arguments.named.end()) return std::nullopt;
    Value value = std::move(found->second);
    arguments.named.erase(found);
    return value;
  };
  const std::string called = node.name ? "the macro `" + *node.name + "`" : "the caller of a macro";
  std::vector<std::optional<Value>> values;
  for (size_t i = 0; i < node.parameters.size(); ++i)
    values.push_back(i < arguments.positional.size() ? arguments.positional[i] : take_named(*node.parameters[i].name));
  const Inner scope(*this, macro.scope, node.hidden);
  const auto declare = [this](std::string_view name, Value value) {
    scope_->set(&*tree_.names.find(name), std::move(value));
  };
  if (node.takes_caller) {
    const auto caller = take_named("caller");
    declare("caller", caller && !caller->is_none() ? *caller : maker_.undefined("No caller defined"));
  }
  if (node.takes_named_rest) {
    std::vector<std::pair<Value, Value>> rest;
    for (auto& [name, value] : arguments.named) rest.emplace_back(maker_.string(name), value);
    declare("kwargs", maker_.dict(std::move(rest)));
  } else if (!arguments.named.empty()) {
    fail(called + " has no parameter `" + arguments.named[0].first + "`");
  }
  const size_t taken = std::min(node.parameters.size(), arguments.positional.size());
  if (node.takes_rest)
    declare("varargs", maker_.tuple(Values(arguments.positional.begin() + static_cast<std::ptrdiff_t>(taken),
                                           arguments.positional.end())));
  else if (arguments.positional.size() > taken)
    fail(called + " takes at most " + std::to_string(node.parameters.size()) + " values");
  for (size_t i = 0; i < values.size(); ++i) {
    const Name name = node.parameters[i].name;
    scope_->set(name, values[i] ? *values[i] : maker_.undefined("parameter '" + *name + "' was not provided"));
  }
  for (size_t i = 0; i < values.size(); ++i)
    if (!values[i] && node.parameters[i].otherwise)
      scope_->set(node.parameters[i].name, evaluate(*node.parameters[i].otherwise));
  Caught text(*this);
  execute(node.body);
  line_ = line;
  return text.take();
}

// A name is looked for in the present scope, then in those around it.
Value* Interpreter::find(Name name) {
  for (Scope* scope = scope_.get(); scope != nullptr; scope = scope->outer.get())
    if (Value* value = scope->find(name)) return value;
  return nullptr;
}

// An unknown name is an undefined value. Only using it is an error.
Value Interpreter::missing(Name name) { return maker_.undefined("'" + *name + "' is undefined"); }

// Variables come first, then functions that are known to every template. Functions are made once for each rendering.
Value Interpreter::name(const Expression& expression) {
  if (const Value* value = find(expression.name)) return *value;
  const auto known = globals_.find(expression.name);
  if (known != globals_.end()) return known->second;
  std::optional<Value> made = global_function(*expression.name, now_);
  if (*expression.name == "namespace")
    made = function("namespace", [this](Maker&, const Arguments& arguments) { return make_namespace(arguments); });
  if (!made && *expression.name == "self") fail_unknown("the variable `self`");
  if (!made) return missing(expression.name);
  return globals_[expression.name] = *made;
}

// A namespace takes its fields as dict() takes its entries.
Value Interpreter::make_namespace(const Arguments& arguments) {
  const auto made = std::make_shared<Namespace>();
  const Value fields = chat::call(maker_, *global_function("dict", now_), arguments);
  for (const auto& [key, value] : fields.dict()->entries) {
    if (!key.string()) fail_unknown("a field of a namespace whose name is no text");
    made->set(key.bytes(), value);
  }
  maker_.account().hold(kBytesKept);
  namespaces_.push_back(made);
  return std::shared_ptr<Object>(made);
}

// A target is a name, a field of a namespace, or a list of targets for the elements of a value.
void Interpreter::assign(const Target& target, Value value) {
  if (!target.name) {
    const Values values = all_of(maker_, value);
    if (values.size() != target.parts.size())
      fail(std::to_string(values.size()) + " values for " + std::to_string(target.parts.size()) + " names");
    for (size_t i = 0; i < values.size(); ++i) assign(target.parts[i], values[i]);
    return;
  }
  if (target.field.empty()) return scope_->set(target.name, std::move(value));
  const Value* known = find(target.name);
  auto* space = known == nullptr ? nullptr : known->object<Namespace>();
  if (space == nullptr) fail("a field of `" + *target.name + "`, which is no namespace");
  if (space->find(target.field) == nullptr) maker_.account().hold(kBytesKept);
  space->set(target.field, std::move(value));
}

}  // namespace tandem::chat
