// A template as a tree of statements and expressions.
//
// Contract: immutable after parse() and find_scopes(), so any number of threads may read it. A tree is at most
// kMostTreeDepth deep. Names are interned: equal names are one pointer.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/chat_template/operators.h"
#include "engine/model/chat_template/value.h"

namespace tandem::chat {

inline constexpr int kMostTreeDepth = 400;

using Name = const std::string*;

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr list, dict;  // *list, **dict
};

struct Expression {
  enum class Kind {
    constant,     // value
    name,         // name
    list,         // parts
    tuple,        // parts
    dict,         // parts: key, value, key, value ...
    choice,       // parts: value if test, test, other (may be missing)
    logical_or,   // two parts
    logical_and,  // two parts
    logical_not,  // one part
    compare,      // parts: operands; comparisons: what is between them
    compute,      // two parts; what
    concat,       // parts
    minus,        // one part
    plus,         // one part
    attribute,    // one part; text
    item,         // two parts
    slice,        // parts: value, begin, end, step (null: left out)
    call,         // one part; arguments
    filter,       // one part (null: the text of a block); text; arguments
    test,         // one part; text; arguments
  };
  enum class Comparison { equal, unequal, less, less_equal, greater, greater_equal, in, not_in };

  Kind kind = Kind::constant;
  int line = 0, depth = 1;
  Value value;
  Name name = nullptr;
  std::string text;
  Operator what = Operator::add;
  std::vector<ExpressionPtr> parts;
  std::vector<Comparison> comparisons;
  CallArguments arguments;
};

// Where a value goes: a name, a field of a namespace, or several of them.
struct Target {
  Name name = nullptr;  // null: several
  std::string field;    // "": the name itself
  std::vector<Target> parts;
};

struct Statement;
using Block = std::vector<std::unique_ptr<const Statement>>;

struct Statement {
  enum class Kind {
    output,        // values, one after another
    set,           // target = values[0]
    set_block,     // target = the text of the body, through values[0] if there is a filter
    loop,          // for target in values[0] if values[1] (may be null): body, else other
    choice,        // branches: tests and bodies; other
    macro,         // name, parameters, body
    call_block,    // values[0]: a call; parameters, body
    filter_block,  // values[0]: a filter; body
    with,          // targets and values; body
    generation,    // body
    leave,         // break
    go_on,         // continue
    unknown,       // text: a statement that is not known here
  };
  struct Branch {
    ExpressionPtr test;
    Block body;
  };
  struct Parameter {
    Name name = nullptr;
    ExpressionPtr otherwise;  // null: none
  };

  Kind kind = Kind::output;
  int line = 0;
  std::vector<ExpressionPtr> values;
  std::vector<Target> targets;
  Block body, other;
  std::vector<Branch> branches;
  Name name = nullptr;
  std::vector<Parameter> parameters;
  std::string text;
  bool is_recursive = false, takes_caller = false, takes_rest = false, takes_named_rest = false;
  // Names that are undefined when the body's scope begins, whatever has that name outside (scopes.h).
  std::vector<Name> hidden, hidden_in_other;
};

struct Tree {
  std::set<std::string, std::less<>> names;
  Block body;
  std::vector<Name> hidden;

  Name intern(std::string_view name) {
    const auto found = names.find(name);
    return found != names.end() ? &*found : &*names.emplace(name).first;
  }
};

Tree parse(std::string_view source, Maker& maker);

}  // namespace tandem::chat
