// Decides before a template runs which names each block hides. Jinja does so when it compiles, and a template can see
// the difference.
#include "engine/model/chat_template/scopes.h"

#include <map>

namespace tandem::chat {
namespace {

// The names of one scope, and what they are when the scope begins. How a name begins in a scope: as a parameter, as a
// variable of the template's caller (`resolve`), as the name of an outer scope (`alias`), or undefined. Only the last
// kind is hidden when the program runs.
struct Symbols {
  enum class Load { parameter, resolve, alias, undefined };
  const Symbols* outer = nullptr;
  std::map<Name, Load> names;
  std::set<Name> stores;

  bool knows(Name name) const { return names.contains(name) || (outer != nullptr && outer->knows(name)); }
  // A name that is read first comes from outside.
  void load(Name name) {
    if (!knows(name)) names[name] = Load::resolve;
  }
  // A name that is set first is undefined until then, unless an outer scope has it.
  void store(Name name) {
    stores.insert(name);
    if (!names.contains(name)) names[name] = outer && outer->knows(name) ? Load::alias : Load::undefined;
  }
  void declare(Name name) {
    stores.insert(name);
    names[name] = Load::parameter;
  }
  // After an `if`: a name that one of its branches sets has its outer value in the others.
  void join(const std::vector<Symbols>& branches) {
    std::set<Name> fresh;
    for (const Symbols& each : branches) fresh.insert(each.stores.begin(), each.stores.end());
    for (const Name name : stores) fresh.erase(name);
    for (const Symbols& each : branches) {
      for (const auto& [name, load] : each.names) names[name] = load;
      stores.insert(each.stores.begin(), each.stores.end());
    }
    for (const Name name : fresh) names[name] = outer && outer->knows(name) ? Load::alias : Load::resolve;
  }
  std::vector<Name> hidden() const {
    std::vector<Name> result;
    for (const auto& [name, load] : names)
      if (load == Load::undefined) result.push_back(name);
    return result;
  }
};

// Calls use(expression) for an expression and all of its parts.
template <typename Use>
void each_part(const ExpressionPtr& root, const Use& use) {
  if (!root) return;
  use(*root);
  for (const auto& part : root->parts) each_part(part, use);
  for (const auto& part : root->arguments.positional) each_part(part, use);
  for (const auto& [name, part] : root->arguments.named) each_part(part, use);
  each_part(root->arguments.list, use);
  each_part(root->arguments.dict, use);
}

// Every name in an expression is read.
void visit(Symbols& symbols, const ExpressionPtr& expression) {
  each_part(expression, [&symbols](const Expression& part) {
    if (part.kind == Expression::Kind::name) symbols.load(part.name);
  });
}

// A field of a namespace is set in the namespace, so the namespace's name is only read.
void assign(Symbols& symbols, const Target& target, bool as_parameter = false) {
  for (const Target& part : target.parts) assign(symbols, part, as_parameter);
  if (!target.name) return;
  if (!target.field.empty())
    symbols.load(target.name);
  else if (as_parameter)
    symbols.declare(target.name);
  else
    symbols.store(target.name);
}

void visit(Symbols& symbols, const Block& block);

// Names that a statement reads and sets in the scope that it stands in. Bodies with a scope of their own are left out
// here. Finder visits them with the scope around them.
void visit(Symbols& symbols, const Statement& statement) {
  using Kind = Statement::Kind;
  switch (statement.kind) {
    case Kind::output:
    case Kind::call_block:
    case Kind::filter_block:
    case Kind::with:
      for (const auto& value : statement.values) visit(symbols, value);
      return;
    case Kind::loop:
      return visit(symbols, statement.values[0]);
    case Kind::set:
      visit(symbols, statement.values[0]);
      return assign(symbols, statement.targets[0]);
    case Kind::set_block:
      return assign(symbols, statement.targets[0]);
    case Kind::macro:
      return symbols.store(statement.name);
    case Kind::choice: {
      visit(symbols, statement.branches[0].test);
      // The first branch; all `elif`, one after another; `else`. All branches begin with what is known before the `if`,
      // so each has a copy.
      std::vector<Symbols> branches(3, symbols);
      visit(branches[0], statement.branches[0].body);
      for (size_t i = 1; i < statement.branches.size(); ++i) {
        visit(branches[1], statement.branches[i].test);
        Symbols inner = branches[1];
        visit(inner, statement.branches[i].body);
        branches[1].join({inner});
      }
      visit(branches[2], statement.other);
      return symbols.join(branches);
    }
    default:
      return;
  }
}

void visit(Symbols& symbols, const Block& block) {
  for (const auto& statement : block) visit(symbols, *statement);
}

// Walks through all blocks and writes the hidden names into the tree.
class Finder {
 public:
  explicit Finder(Tree& tree)
      : loop_(tree.intern("loop")), special_{tree.intern("caller"), tree.intern("varargs"), tree.intern("kwargs")} {}

  // All scopes within a block of the scope `outer`.
  void within(const Block& block, const Symbols& outer) {
    for (const auto& each : block) scopes_of(const_cast<Statement&>(*each), outer);  // the tree is still being made
  }

 private:
  // Gives a statement its hidden names and goes into its bodies. `if` opens no scope, so its branches count as part of
  // the outer one.
  void scopes_of(Statement& statement, const Symbols& outer) {
    using Kind = Statement::Kind;
    for (const auto& branch : statement.branches) within(branch.body, outer);
    if (statement.kind == Kind::choice) return within(statement.other, outer);
    Symbols own{&outer, {}, {}};
    if (statement.kind == Kind::loop) {
      own.declare(loop_);
      assign(own, statement.targets[0], true);
      Symbols other{&outer, {}, {}};
      // The `else` of a loop does not see the loop's variables.
      visit(other, statement.other);
      statement.hidden_in_other = other.hidden();
      within(statement.other, other);
    } else if (statement.kind == Kind::macro || statement.kind == Kind::call_block) {
      find_special(statement);
      for (const auto& parameter : statement.parameters) own.declare(parameter.name);
      if (statement.takes_caller) own.declare(special_[0]);
      if (statement.takes_rest) own.declare(special_[1]);
      if (statement.takes_named_rest) own.declare(special_[2]);
      for (const auto& parameter : statement.parameters) visit(own, parameter.otherwise);
    } else if (statement.kind == Kind::with) {
      for (const Target& target : statement.targets) assign(own, target, true);
    }
    visit(own, statement.body);
    if (statement.kind == Kind::filter_block) visit(own, statement.values[0]);
    statement.hidden = own.hidden();
    within(statement.body, own);
  }

  // A macro takes what its body names. Whatever reads the name first makes it special.
  void find_special(Statement& macro) const {
    bool* const takes[] = {&macro.takes_caller, &macro.takes_rest, &macro.takes_named_rest};
    for (size_t i = 0; i < 3; ++i) {
      bool is_parameter = false;
      for (const auto& parameter : macro.parameters) is_parameter = is_parameter || parameter.name == special_[i];
      *takes[i] = !is_parameter && reads(macro.body, special_[i]);
    }
  }

  // Whether a macro's body mentions a name such as `caller` decides what the macro accepts.
  static bool reads(const Block& block, Name name) {
    for (const auto& statement : block)
      if (reads(*statement, name)) return true;
    return false;
  }
  static bool reads(const Statement& statement, Name name) {
    bool found = false;
    const auto look = [&](const ExpressionPtr& expression) {
      each_part(expression, [&](const Expression& part) {
        found = found || (part.kind == Expression::Kind::name && part.name == name);
      });
    };
    for (const auto& value : statement.values) look(value);
    for (const auto& parameter : statement.parameters) look(parameter.otherwise);
    for (const auto& branch : statement.branches) {
      look(branch.test);
      found = found || reads(branch.body, name);
    }
    return found || reads(statement.body, name) || reads(statement.other, name);
  }

  const Name loop_;
  const Name special_[3];  // caller, varargs, kwargs
};

}  // namespace

void find_scopes(Tree& tree) {
  Symbols root;
  visit(root, tree.body);
  tree.hidden = root.hidden();
  Finder(tree).within(tree.body, root);
}

}  // namespace tandem::chat
