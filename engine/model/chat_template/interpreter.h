// Runs a template on the values of a conversation.
//
// Contract: Fault with a line for everything that ends the rendering early. Threads: one for each interpreter; the tree
// is shared.
#pragma once

#include <ctime>
#include <map>
#include <memory>

#include "engine/model/chat_template/objects.h"
#include "engine/model/chat_template/syntax.h"

namespace tandem::chat {

// Names with their values. Scopes that a macro was made in live as long as the interpreter.
struct Scope {
  std::shared_ptr<Scope> outer;
  std::vector<std::pair<Name, Value>> values;
  bool is_kept = false;

  Value* find(Name name) {
    for (auto& [each, value] : values)
      if (each == name) return &value;
    return nullptr;
  }
  void set(Name name, Value value) {
    if (Value* known = find(name))
      *known = std::move(value);
    else
      values.emplace_back(name, std::move(value));
  }
};

struct Macro;
struct Loop;

class Interpreter {
 public:
  // values: those of the caller, by name.
  Interpreter(const Tree& tree, Maker& maker, const std::tm& now);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  void set(std::string_view name, Value value);
  Text run();
  int line() const { return line_; }  // of the node that is being evaluated

  Value call_macro(const Macro& macro, Arguments arguments);
  Value repeat_loop(const Loop& loop, const Value& values);

 private:
  enum class Flow { normal, leave, go_on };
  class Level;
  class Inner;
  class Caught;

  Flow execute(const Block& block);
  Flow execute(const Statement& statement);
  void output(const Statement& statement);
  Flow choose(const Statement& statement);
  Flow loop(const Statement& statement);
  Flow run_loop(const Statement& statement, const Value& values, int depth);
  Iterator filtered(const Statement& statement, const Value& values);
  Flow set_block(const Statement& statement);
  Flow filter_block(const Statement& statement);
  Flow with(const Statement& statement);
  void call_block(const Statement& statement);
  void generation(const Statement& statement);
  void print(const Value& value);

  Value evaluate(const Expression& expression);
  Value evaluate_or_none(const ExpressionPtr& expression);
  Value name(const Expression& expression);
  Value kept_name(const Expression& expression);
  Value logical(const Expression& expression);
  Value compute(const Expression& expression);
  Value attribute_of(const Expression& expression);
  Value item_or_slice(const Expression& expression);
  Value sequence(const Expression& expression);
  Value dict(const Expression& expression);
  Value choice(const Expression& expression);
  bool compare(const Expression& expression);
  Value concat(const Expression& expression);
  Value call(const Expression& expression, const Value* caller = nullptr);
  Value filter(const Expression& expression);
  bool test(const Expression& expression);
  Arguments arguments_of(const CallArguments& arguments);
  bool holds(Expression::Comparison comparison, const Value& a, const Value& b);

  Value* find(Name name);
  Value missing(Name name);
  void assign(const Target& target, Value value);
  Value make_macro(const Statement& statement);
  Value make_namespace(const Arguments& arguments);
  void keep_scope();

  const Tree& tree_;
  Maker& maker_;
  const std::tm now_;
  std::shared_ptr<Scope> scope_;
  std::map<Name, Value> globals_;
  std::vector<std::shared_ptr<Scope>> kept_scopes_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  std::vector<Value> kept_loops_;
  Text* out_ = nullptr;
  const Value* block_text_ = nullptr;  // what a filter without a value filters
  const void* stack_begin_ = nullptr;
  int line_ = 0;
  size_t printed_ = 0;  // bytes since the last check
};

// Checks how much of the stack is used. Recursion of a template is recursion here.
class Interpreter::Level {
 public:
  explicit Level(const Interpreter& interpreter) {
    constexpr size_t kMostStack = size_t{400} << 10;  // bytes that a rendering may use
    const auto* here = static_cast<const char*>(__builtin_frame_address(0));
    const auto* begin = static_cast<const char*>(interpreter.stack_begin_);
    if (begin > here && static_cast<size_t>(begin - here) > kMostStack)
      fail_too_large("constructs or calls that are nested too deeply");
  }
};

struct Macro : Callable {
  Macro(Interpreter& made_by, const Statement& statement, std::shared_ptr<Scope> defined_in)
      : owner(made_by), node(statement), scope(std::move(defined_in)) {}
  Interpreter& owner;
  const Statement& node;
  const std::shared_ptr<Scope> scope;
  const char* type() const override { return "Macro"; }
  Value call(Arguments arguments) override { return owner.call_macro(*this, std::move(arguments)); }
  std::optional<Value> attribute(Maker& maker, std::string_view name) override;
};

// The variable `loop`. It looks one value ahead when it is asked whether the loop ends.
struct Loop : Callable {
  Loop(Interpreter& made_by, const Statement& statement, Iterator from, std::optional<int64_t> count, int level)
      : owner(made_by), node(statement), source(std::move(from)), known_count(count), depth(level) {}
  Interpreter& owner;
  const Statement& node;
  Iterator source;
  std::optional<int64_t> known_count;
  int depth;
  int64_t index = -1;
  std::optional<Value> before, current, after;
  std::optional<Values> last_changed;
  std::shared_ptr<Scope> scope;  // that the loop stands in, if it is recursive
  std::weak_ptr<Loop> self;
  bool is_kept = false;

  const char* type() const override { return "LoopContext"; }
  int nesting() const override { return 1; }
  bool next(Value& value);
  bool look_ahead();
  int64_t count(Maker& maker);
  Value call(Arguments arguments) override;
  std::optional<Value> attribute(Maker& maker, std::string_view name) override;
};

}  // namespace tandem::chat
