// Builds the tree of a template by recursive descent. Each level of operators is a function, from the weakest to the
// strongest. Depth is bounded, since the functions recurse.
#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "engine/model/chat_template/lexer.h"
#include "engine/model/chat_template/syntax.h"

namespace tandem::chat {
namespace {

using Kind = Expression::Kind;

// Recursive descent with the grammar and the order of precedence of Jinja's own parser.
class Parser {
 public:
  Parser(std::string_view source, Maker& maker, Tree& tree) : tokens_(tokens_of(source)), maker_(maker), tree_(tree) {}

  // A block that begins with an unknown word is reported by name. An `endif` without its `if` is one.
  Block all() {
    Block body = block({});
    if (is(Token::Kind::block_begin)) fail_unknown("the statement `" + ahead(1).text + "` here", ahead(1).line);
    return body;
  }

 private:
  using Words = std::initializer_list<std::string_view>;

  // Counts the levels of nested constructs while it lives.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser.level_ > kMostLevels) fail("constructs that are nested too deeply", parser.now().line);
    }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  // The token at which the parser stands, and tokens behind it. The last token is the end, which next() never passes.
  const Token& now() const { return tokens_[at_]; }
  const Token& ahead(size_t count) const { return tokens_[std::min(at_ + count, tokens_.size() - 1)]; }
  bool is(Token::Kind kind) const { return now().kind == kind; }
  static bool is_mark(const Token& token, std::string_view mark) {
    return token.kind == Token::Kind::mark && token.text == mark;
  }
  static bool is_word(const Token& token, std::string_view word) {
    return token.kind == Token::Kind::name && token.text == word;
  }
  bool is_mark(std::string_view mark) const { return is_mark(now(), mark); }
  bool is_word(std::string_view word) const { return is_word(now(), word); }
  bool is_one_of(Words words) const {
    return std::ranges::any_of(words, [this](std::string_view word) { return is_word(word); });
  }
  void next() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool take(std::string_view mark) {
    const bool found = is_mark(mark);
    // Takes a token if it is the next one. The parser never goes back.
    if (found) next();
    return found;
  }
  bool take_word(std::string_view word) {
    const bool found = is_word(word);
    if (found) next();
    return found;
  }

  // A token in the words of a message.
  static std::string described(const Token& token) {
    switch (token.kind) {
      case Token::Kind::end:
        return "the end of the template";
      case Token::Kind::block_end:
        return "the end of a statement";
      case Token::Kind::variable_end:
        return "the end of an expression";
      case Token::Kind::string:
        return "a text";
      case Token::Kind::data:
      case Token::Kind::block_begin:
      case Token::Kind::variable_begin:
        return "text of the template";
      default:
        return "`" + token.text + "`";
    }
  }
  [[noreturn]] void refuse(const std::string& wanted) const {
    fail(wanted + " is missing before " + described(now()), now().line);
  }
  void require(std::string_view mark) {
    if (!take(mark)) refuse("`" + std::string(mark) + "`");
  }
  void require(Token::Kind kind, const char* wanted) {
    if (!is(kind)) refuse(wanted);
    next();
  }
  // A name is taken here; `true` and the like are refused where they would be set (assignable()).
  std::string required_name() {
    if (!is(Token::Kind::name)) refuse("a name");
    std::string name = now().text;
    next();
    return name;
  }

  // Every node knows its line, which a fault of the running template names.
  std::unique_ptr<Expression> make(Kind kind, int line) {
    auto made = std::make_unique<Expression>();
    made->kind = kind;
    made->line = line;
    return made;
  }
  // Sets the depth of a finished expression.
  static ExpressionPtr done(std::unique_ptr<Expression> made) {
    int deepest = 0;
    const auto look = [&deepest](const ExpressionPtr& part) {
      if (part) deepest = std::max(deepest, part->depth);
    };
    for (const auto& part : made->parts) look(part);
    for (const auto& part : made->arguments.positional) look(part);
    for (const auto& [name, part] : made->arguments.named) look(part);
    look(made->arguments.list);
    look(made->arguments.dict);
    made->depth = deepest + 1;
    if (made->depth > kMostTreeDepth) fail("an expression that is nested too deeply", made->line);
    return made;
  }
  // An operator with one or two parts.
  ExpressionPtr combine(Kind kind, int line, ExpressionPtr a, ExpressionPtr b = nullptr) {
    auto made = make(kind, line);
    made->parts.push_back(std::move(a));
    if (b) made->parts.push_back(std::move(b));
    return done(std::move(made));
  }
  ExpressionPtr constant(Value value, int line) {
    auto made = make(Kind::constant, line);
    made->value = std::move(value);
    return made;
  }

  // Statements until one of these words begins a block; the word is the next token then.
  Block block(Words ends) {
    const Level level(*this);
    Block body;
    while (!is(Token::Kind::end)) {
      if (is(Token::Kind::block_begin)) {
        const bool is_end =
            std::ranges::any_of(ends, [this](std::string_view word) { return is_word(ahead(1), word); });
        if (is_end || (ends.size() == 0 && is_stray(ahead(1)))) return body;
        next();
        body.push_back(statement());
        require(Token::Kind::block_end, "the end of the statement");
      } else {
        output(body);
      }
    }
    return body;
  }

  // A word that ends or continues a statement that did not begin.
  static bool is_stray(const Token& token) {
    for (const std::string_view word : {"endif", "endfor", "elif", "else", "endmacro", "endset", "endcall", "endfilter",
                                        "endwith", "endgeneration", "endraw"})
      if (is_word(token, word)) return true;
    return false;
  }

  // Text and expressions are printed one after another, as one statement.
  void output(Block& body) {
    auto made = std::make_unique<Statement>();
    made->line = now().line;
    while (is(Token::Kind::data) || is(Token::Kind::variable_begin)) {
      if (is(Token::Kind::data)) {
        made->values.push_back(constant(maker_.string(now().text), now().line));
        next();
        continue;
      }
      next();
      made->values.push_back(tuple());
      require(Token::Kind::variable_end, "the end of the expression");
    }
    body.push_back(std::move(made));
  }

  // The body of a statement up to one of the words, which is taken too. A colon may stand at the end of a statement,
  // as in Python.
  Block body_until(Words ends) {
    take(":");
    require(Token::Kind::block_end, "the end of the statement");
    Block body = block(ends);
    if (is(Token::Kind::end)) {
      // Others of the words may be left out.
      const auto* const last =
          std::ranges::find_if(ends, [](std::string_view word) { return word.starts_with("end"); });
      fail("a statement without its `" + std::string(last == ends.end() ? *ends.begin() : *last) + "`", now().line);
    }
    next();
    next();
    return body;
  }

  // The first word of a statement decides what follows. Unknown statements are errors by name, since a template that
  // lost one would write another prompt.
  std::unique_ptr<Statement> statement() {
    if (!is(Token::Kind::name)) refuse("the name of a statement");
    auto made = std::make_unique<Statement>();
    made->line = now().line;
    const std::string word = now().text;
    next();
    if (word == "set")
      set(*made);
    else if (word == "for")
      loop(*made);
    else if (word == "if")
      choice(*made);
    else if (word == "macro")
      macro(*made);
    else if (word == "call")
      call_block(*made);
    else if (word == "filter")
      filter_block(*made);
    else if (word == "with")
      with(*made);
    else if (word == "print")
      print(*made);
    else if (word == "generation")
      generation(*made);
    else if (word == "break" || word == "continue")
      leave(*made, word);
    else
      fail_unknown("the statement `" + word + "`", made->line);
    return made;
  }

  // `set` has two forms: a value behind `=`, or a block whose text is caught. The latter may have filters.
  void set(Statement& made) {
    made.targets.push_back(target(true, true));
    if (take("=")) {
      made.kind = Statement::Kind::set;
      made.values.push_back(tuple());
      return;
    }
    made.kind = Statement::Kind::set_block;
    if (is_mark("|")) made.values.push_back(filters(nullptr));
    made.body = body_of_function({"endset"}, true);
  }

  // A loop's list may have no choice without brackets, because its `if` is the loop's condition.
  void loop(Statement& made) {
    made.kind = Statement::Kind::loop;
    made.targets.push_back(target(true, false));
    if (assigns(made.targets[0], "loop")) fail("a loop whose variable is called `loop`", made.line);
    if (!take_word("in")) refuse("`in`");
    made.values.push_back(tuple(false, {"recursive"}));
    made.values.push_back(take_word("if") ? expression() : nullptr);
    made.is_recursive = take_word("recursive");
    ++loops_;
    made.body = body_until({"endfor", "else"});
    --loops_;
    if (is_word(before(), "else")) made.other = body_until({"endfor"});
  }
  const Token& before() const { return tokens_[at_ - 1]; }

  static bool assigns(const Target& target, std::string_view name) {
    if (target.name) return *target.name == name;
    return std::ranges::any_of(target.parts, [name](const Target& part) { return assigns(part, name); });
  }

  // The branches are tried in order. `elif` begins another branch of the same statement.
  void choice(Statement& made) {
    made.kind = Statement::Kind::choice;
    for (;;) {
      ExpressionPtr test = tuple(false);
      made.branches.push_back({std::move(test), body_until({"elif", "else", "endif"})});
      if (is_word(before(), "elif")) continue;
      if (is_word(before(), "else")) made.other = body_until({"endif"});
      return;
    }
  }

  // The body of something that is a function of its own in Jinja: no `break` leaves it. A block whose text is caught
  // (`stays`) is none.
  Block body_of_function(Words ends, bool stays = false) {
    const int loops = loops_;
    if (!stays) loops_ = 0;
    Block body = body_until(ends);
    loops_ = loops;
    return body;
  }

  // The parameters of a macro, or those that a `call` block gives to its caller. Defaults come last.
  void signature(Statement& made) {
    require("(");
    while (!is_mark(")")) {
      if (!made.parameters.empty()) require(",");
      Statement::Parameter parameter;
      parameter.name = tree_.intern(assignable(required_name()));
      if (take("="))
        parameter.otherwise = expression();
      else if (!made.parameters.empty() && made.parameters.back().otherwise)
        fail("a parameter without a default behind one that has one", now().line);
      made.parameters.push_back(std::move(parameter));
    }
    require(")");
  }

  std::string assignable(std::string name) const {
    for (const std::string_view word : {"true", "false", "none", "True", "False", "None"})
      if (name == word) fail("a value for `" + name + "`", now().line);
    return name;
  }

  // A macro's name is set in the scope that it stands in.
  void macro(Statement& made) {
    // The body is a function in Jinja, so loops around the macro do not count inside it.
    made.kind = Statement::Kind::macro;
    made.name = tree_.intern(assignable(required_name()));
    signature(made);
    made.body = body_of_function({"endmacro"});
  }

  // The block is a macro without a name, which the called macro gets as `caller`.
  void call_block(Statement& made) {
    made.kind = Statement::Kind::call_block;
    if (is_mark("(")) signature(made);
    made.values.push_back(expression());
    if (made.values[0]->kind != Kind::call) fail("`call` without a call", made.line);
    made.body = body_of_function({"endcall"});
  }

  void filter_block(Statement& made) {
    made.kind = Statement::Kind::filter_block;
    made.values.push_back(filters(nullptr, true));
    made.body = body_of_function({"endfilter"}, true);
  }

  // Names and values stand in pairs. No value sees the names of the others.
  void with(Statement& made) {
    made.kind = Statement::Kind::with;
    while (!is(Token::Kind::block_end)) {
      if (!made.targets.empty()) require(",");
      made.targets.push_back(target(true, false));
      require("=");
      made.values.push_back(expression());
    }
    made.body = body_of_function({"endwith"}, true);
  }

  void print(Statement& made) {
    while (!is(Token::Kind::block_end)) {
      if (!made.values.empty()) require(",");
      made.values.push_back(expression());
    }
  }

  // A `generation` block marks the assistant's words for training and prints like any other.
  void generation(Statement& made) {
    made.kind = Statement::Kind::generation;
    made.body = body_of_function({"endgeneration"});
  }

  void leave(Statement& made, const std::string& word) {
    if (loops_ == 0) fail("`" + word + "` outside of a loop", made.line);
    made.kind = word == "break" ? Statement::Kind::leave : Statement::Kind::go_on;
  }

  // A name, a field of a namespace (`fields`), or several with commas (`several`).
  Target target(bool several, bool fields) {
    const Level level(*this);
    Target all;
    bool is_tuple = false;
    for (;;) {
      if (is_mark("=") || is_word("in") || is(Token::Kind::block_end) || is_mark(")") || is_mark("|")) break;
      all.parts.push_back(one_target(fields));
      if (!several || !take(",")) break;
      is_tuple = true;
    }
    if (all.parts.empty()) refuse("a name");
    return is_tuple ? std::move(all) : std::move(all.parts[0]);
  }
  Target one_target(bool fields) {
    if (take("(")) {
      Target inner = target(true, false);
      require(")");
      return inner;
    }
    Target one;
    one.name = tree_.intern(assignable(required_name()));
    if (fields && take(".")) one.field = required_name();
    return one;
  }

  // Values with commas between them are a tuple, and one value without a comma is itself. `ends` are words at which
  // the list stops.
  ExpressionPtr tuple(bool with_choice = true, Words ends = {}, bool in_brackets = false) {
    const int line = now().line;
    auto all = make(Kind::tuple, line);
    bool is_tuple = false;
    for (;;) {
      if (is(Token::Kind::variable_end) || is(Token::Kind::block_end) || is_mark(")") || is_one_of(ends)) break;
      all->parts.push_back(with_choice ? expression() : disjunction());
      if (!take(",")) break;
      is_tuple = true;
    }
    if (is_tuple || (all->parts.empty() && in_brackets)) return done(std::move(all));
    if (all->parts.empty()) refuse("an expression");
    return std::move(all->parts[0]);
  }

  // Precedence from the loosest on: a choice, `or`, `and`, `not`, comparisons, sums, `~`, products, powers, signs. Each
  // has a function, which calls the next one for its parts.
  ExpressionPtr expression() {
    const Level level(*this);
    ExpressionPtr value = disjunction();
    while (is_word("if")) {
      auto made = make(Kind::choice, now().line);
      next();
      made->parts.push_back(std::move(value));
      made->parts.push_back(disjunction());
      made->parts.push_back(take_word("else") ? expression() : nullptr);
      value = done(std::move(made));
    }
    return value;
  }

  // From here to unary() each function knows one level of operators and calls the next stronger one.
  ExpressionPtr disjunction() {
    ExpressionPtr left = conjunction();
    for (int line = now().line; take_word("or"); line = now().line)
      left = combine(Kind::logical_or, line, std::move(left), conjunction());
    return left;
  }
  ExpressionPtr conjunction() {
    ExpressionPtr left = negation();
    for (int line = now().line; take_word("and"); line = now().line)
      left = combine(Kind::logical_and, line, std::move(left), negation());
    return left;
  }
  ExpressionPtr negation() {
    const Level level(*this);
    const int line = now().line;
    if (take_word("not")) return combine(Kind::logical_not, line, negation());
    return comparison();
  }

  // "not in" is one operator of two words.
  std::optional<Expression::Comparison> take_comparison() {
    using Comparison = Expression::Comparison;
    constexpr std::pair<std::string_view, Comparison> kComparisons[] = {
        {"==", Comparison::equal},      {"!=", Comparison::unequal}, {"<", Comparison::less},
        {"<=", Comparison::less_equal}, {">", Comparison::greater},  {">=", Comparison::greater_equal}};
    for (const auto& [mark, comparison] : kComparisons)
      if (take(mark)) return comparison;
    if (take_word("in")) return Comparison::in;
    if (!is_word("not") || !is_word(ahead(1), "in")) return std::nullopt;
    next();
    next();
    return Comparison::not_in;
  }
  // Comparisons form one chain, so a < b < c is a single expression of three parts.
  ExpressionPtr comparison() {
    auto made = make(Kind::compare, now().line);
    made->parts.push_back(sum());
    while (const auto comparison = take_comparison()) {
      made->comparisons.push_back(*comparison);
      made->parts.push_back(sum());
    }
    return made->comparisons.empty() ? std::move(made->parts[0]) : done(std::move(made));
  }

  using Operators = std::initializer_list<std::pair<std::string_view, Operator>>;
  std::optional<Operator> take_operator(Operators operators) {
    for (const auto& [mark, what] : operators)
      if (take(mark)) return what;
    return std::nullopt;
  }
  // Operators of one precedence, which group from the left. Jinja groups `**` from the left too, unlike Python.
  ExpressionPtr chain(ExpressionPtr (Parser::*part)(), Operators operators) {
    ExpressionPtr left = (this->*part)();
    for (int line = now().line;; line = now().line) {
      const auto what = take_operator(operators);
      if (!what) return left;
      auto made = make(Kind::compute, line);
      made->what = *what;
      made->parts.push_back(std::move(left));
      made->parts.push_back((this->*part)());
      left = done(std::move(made));
    }
  }
  ExpressionPtr sum() { return chain(&Parser::concat, {{"+", Operator::add}, {"-", Operator::subtract}}); }
  // A row of ~ is one node, so a long text is joined once.
  ExpressionPtr concat() {
    auto made = make(Kind::concat, now().line);
    do made->parts.push_back(product());
    while (take("~"));
    return made->parts.size() == 1 ? std::move(made->parts[0]) : done(std::move(made));
  }
  ExpressionPtr product() {
    return chain(
        &Parser::power,
        {{"*", Operator::multiply}, {"/", Operator::divide}, {"//", Operator::floor_divide}, {"%", Operator::modulo}});
  }
  // Filters bind tighter than a power: 2 ** x | f is 2 ** (x | f).
  ExpressionPtr power() { return chain(&Parser::unary_with_filters, {{"**", Operator::power}}); }
  ExpressionPtr unary_with_filters() { return unary(true); }

  // A sign binds closer than a filter: -1 | abs is the filter of -1. Filters stand behind the outermost sign only.
  ExpressionPtr unary(bool with_filters) {
    const Level level(*this);
    const int line = now().line;
    ExpressionPtr value;
    if (take("-"))
      value = combine(Kind::minus, line, unary(false));
    else if (take("+"))
      value = combine(Kind::plus, line, unary(false));
    else
      value = primary();
    value = postfix(std::move(value));
    return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
  }

  // Texts that stand one behind another are one text, as in Python.
  ExpressionPtr primary() {
    const Token token = now();
    if (token.kind == Token::Kind::name) {
      next();
      if (token.text == "true" || token.text == "True") return constant(true, token.line);
      if (token.text == "false" || token.text == "False") return constant(false, token.line);
      if (token.text == "none" || token.text == "None") return constant(Value(), token.line);
      auto made = make(Kind::name, token.line);
      made->name = tree_.intern(token.text);
      return made;
    }
    if (token.kind == Token::Kind::string) {
      std::string text;
      for (; is(Token::Kind::string); next()) text += now().text;
      return constant(maker_.string(std::move(text)), token.line);
    }
    if (token.kind == Token::Kind::whole || token.kind == Token::Kind::real) {
      next();
      return constant(token.kind == Token::Kind::whole ? Value(token.whole) : Value(token.real), token.line);
    }
    if (take("(")) {
      ExpressionPtr inner = tuple(true, {}, true);
      require(")");
      return inner;
    }
    if (is_mark("[")) return list();
    if (is_mark("{")) return dict();
    refuse("an expression");
  }

  // Lists and dicts may have a comma behind their last part.
  ExpressionPtr list() {
    auto made = make(Kind::list, now().line);
    require("[");
    while (!is_mark("]")) {
      if (!made->parts.empty()) require(",");
      if (is_mark("]")) break;
      made->parts.push_back(expression());
    }
    require("]");
    return done(std::move(made));
  }
  // A comma may stand behind the last entry.
  ExpressionPtr dict() {
    auto made = make(Kind::dict, now().line);
    require("{");
    while (!is_mark("}")) {
      if (!made->parts.empty()) require(",");
      if (is_mark("}")) break;
      made->parts.push_back(expression());
      require(":");
      made->parts.push_back(expression());
    }
    require("}");
    return done(std::move(made));
  }

  // Attributes, items and calls follow a value in any order. Filters and tests come behind all of these.
  ExpressionPtr postfix(ExpressionPtr value) {
    for (;;) {
      if (is_mark("."))
        value = dotted(std::move(value));
      else if (is_mark("["))
        value = subscript(std::move(value));
      else if (is_mark("("))
        value = call(std::move(value));
      else
        return value;
    }
  }
  // Filters and tests bind stronger than any operator in front of them.
  ExpressionPtr filters_and_tests(ExpressionPtr value) {
    for (;;) {
      if (is_mark("|"))
        value = filters(std::move(value));
      else if (is_word("is"))
        value = test(std::move(value));
      else if (is_mark("("))
        value = call(std::move(value));
      else
        return value;
    }
  }

  // `a.0` is the item 0, as in Jinja.
  ExpressionPtr dotted(ExpressionPtr value) {
    const int line = now().line;
    next();
    const Token token = now();
    next();
    if (token.kind == Token::Kind::whole)
      return combine(Kind::item, line, std::move(value), constant(token.whole, line));
    if (token.kind != Token::Kind::name) fail("a name or number is missing behind `.`", token.line);
    auto made = make(Kind::attribute, line);
    made->text = token.text;
    made->parts.push_back(std::move(value));
    return done(std::move(made));
  }

  // Several keys with commas are one tuple, which is a key of a dict. A slice stands alone.
  ExpressionPtr subscript(ExpressionPtr value) {
    const int line = now().line;
    next();
    auto keys = make(Kind::tuple, line);
    while (!is_mark("]")) {
      if (!keys->parts.empty()) require(",");
      if (is_slice()) {
        if (!keys->parts.empty()) fail_unknown("several slices in one pair of brackets", line);
        value = slice(std::move(value), nullptr, line);
        return value;
      }
      ExpressionPtr key = expression();
      if (is_mark(":")) {
        if (!keys->parts.empty()) fail_unknown("several slices in one pair of brackets", line);
        return slice(std::move(value), std::move(key), line);
      }
      keys->parts.push_back(std::move(key));
    }
    require("]");
    if (keys->parts.size() == 1) return combine(Kind::item, line, std::move(value), std::move(keys->parts[0]));
    return combine(Kind::item, line, std::move(value), done(std::move(keys)));
  }
  bool is_slice() const { return is_mark(":"); }
  // Parts that are left out become null pointers.
  ExpressionPtr slice(ExpressionPtr value, ExpressionPtr begin, int line) {
    require(":");
    auto made = make(Kind::slice, line);
    made->parts.push_back(std::move(value));
    made->parts.push_back(std::move(begin));
    made->parts.push_back(is_mark(":") || is_mark("]") || is_mark(",") ? nullptr : expression());
    made->parts.push_back(take(":") && !is_mark("]") && !is_mark(",") ? expression() : nullptr);
    if (is_mark(",")) fail_unknown("several slices in one pair of brackets", line);
    require("]");
    return done(std::move(made));
  }

  // The order is Python's: values by place, then by name, `*` before `**`. A value by place cannot follow one by name.
  CallArguments call_arguments() {
    const int line = now().line;
    CallArguments arguments;
    require("(");
    const auto ensure = [line](bool valid) {
      if (!valid) fail("arguments of a call in a wrong order", line);
    };
    for (bool first = true; !is_mark(")"); first = false) {
      if (!first) require(",");
      if (is_mark(")")) break;
      if (take("*")) {
        ensure(!arguments.list && !arguments.dict);
        arguments.list = expression();
      } else if (take("**")) {
        ensure(!arguments.dict);
        arguments.dict = expression();
      } else if (is(Token::Kind::name) && is_mark(ahead(1), "=")) {
        ensure(!arguments.dict);
        std::string name = required_name();
        next();
        arguments.named.emplace_back(std::move(name), expression());
      } else {
        ensure(!arguments.list && !arguments.dict && arguments.named.empty());
        arguments.positional.push_back(expression());
      }
    }
    require(")");
    return arguments;
  }

  // The callee is any value, so a macro in a namespace can be called.
  ExpressionPtr call(ExpressionPtr callee) {
    auto made = make(Kind::call, now().line);
    made->parts.push_back(std::move(callee));
    made->arguments = call_arguments();
    return done(std::move(made));
  }

  std::string dotted_name() {
    std::string name = required_name();
    while (take(".")) name += "." + required_name();
    return name;
  }

  // value: null for the text of a block. A name of a filter may have dots.
  ExpressionPtr filters(ExpressionPtr value, bool begins_inline = false) {
    while (begins_inline || is_mark("|")) {
      if (!begins_inline) next();
      begins_inline = false;
      auto made = make(Kind::filter, now().line);
      made->text = dotted_name();
      made->parts.push_back(std::move(value));
      if (is_mark("(")) made->arguments = call_arguments();
      value = done(std::move(made));
    }
    return value;
  }

  // A test may take one value without brackets, as in `is divisibleby 3`. The words that go on with an
  // expression are none.
  ExpressionPtr test(ExpressionPtr value) {
    const int line = now().line;
    next();
    const bool negative = take_word("not");
    auto made = make(Kind::test, line);
    made->text = dotted_name();
    made->parts.push_back(std::move(value));
    const bool begins_value = is(Token::Kind::name) || is(Token::Kind::string) || is(Token::Kind::whole) ||
                              is(Token::Kind::real) || is_mark("[") || is_mark("{");
    if (is_mark("(")) {
      made->arguments = call_arguments();
    } else if (begins_value && !is_one_of({"else", "or", "and"})) {
      if (is_word("is")) fail("two tests in a row", line);
      made->arguments.positional.push_back(postfix(primary()));
    }
    ExpressionPtr result = done(std::move(made));
    return negative ? combine(Kind::logical_not, line, std::move(result)) : std::move(result);
  }

  static constexpr int kMostLevels = 200;
  const std::vector<Token> tokens_;
  Maker& maker_;
  Tree& tree_;
  size_t at_ = 0;
  int level_ = 0, loops_ = 0;
};

}  // namespace

Tree parse(std::string_view source, Maker& maker) {
  Tree tree;
  tree.body = Parser(source, maker, tree).all();
  return tree;
}

}  // namespace tandem::chat
