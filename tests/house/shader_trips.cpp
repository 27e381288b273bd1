#include "tests/house/shader_trips.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "tests/house/shader_tokens.h"

namespace tandem::house {

namespace {

int64_t saturate(int64_t value) { return std::min(value, kTripBudget); }

// Evaluates integer constant expressions by precedence climbing. An unknown name makes the value unknown.
class Expression {
 public:
  using Lookup = std::function<std::optional<int64_t>(const std::string&)>;
  Expression(const std::vector<Token>& tokens, Lookup lookup) : tokens_(tokens), lookup_(std::move(lookup)) {}

  std::optional<int64_t> value() {
    std::optional<int64_t> result = binary(0);
    return at_ == tokens_.size() ? result : std::nullopt;
  }
  // The value of a bound's expression. The expression ends where prose begins.
  std::optional<int64_t> leading_value() { return binary(0); }

 private:
  static int precedence(const std::string& op) {
    static const std::map<std::string, int> table = {{"*", 5}, {"/", 5},  {"%", 5}, {"+", 4},
                                                     {"-", 4}, {"<<", 3}, {">>", 3}};
    auto found = table.find(op);
    return found == table.end() ? 0 : found->second;
  }

  std::optional<int64_t> binary(int least) {
    std::optional<int64_t> left = unary();
    while (at_ < tokens_.size() && precedence(tokens_[at_].text) > least) {
      std::string op = tokens_[at_++].text;
      std::optional<int64_t> right = binary(precedence(op));
      left = left && right ? apply(op, *left, *right) : std::nullopt;
    }
    return left;
  }

  static std::optional<int64_t> apply(const std::string& op, int64_t a, int64_t b) {
    if (op == "*") return a * b;
    if (op == "+") return a + b;
    if (op == "-") return a - b;
    if (op == "/" && b != 0) return a / b;
    if (op == "%" && b != 0) return a % b;
    if (op == "<<" && b >= 0 && b < 32) return a << b;
    if (op == ">>" && b >= 0 && b < 32) return a >> b;
    return std::nullopt;
  }

  std::optional<int64_t> unary() {
    if (at_ >= tokens_.size()) return std::nullopt;
    std::string text = tokens_[at_++].text;
    if (text == "-" || text == "+") {
      std::optional<int64_t> value = unary();
      return value && text == "-" ? std::optional<int64_t>(-*value) : value;
    }
    if (text == "int" || text == "uint") text = at_ < tokens_.size() ? tokens_[at_++].text : "";  // int(x)
    if (text == "(") {
      std::optional<int64_t> value = binary(0);
      if (at_ >= tokens_.size() || !(tokens_[at_] == ")")) return std::nullopt;
      ++at_;
      return value;
    }
    if (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0]))) {
      if (text.back() == 'u' || text.back() == 'U') text.pop_back();
      char* end = nullptr;
      int64_t value = std::strtoll(text.c_str(), &end, 0);
      return *end == '\0' ? std::optional<int64_t>(value) : std::nullopt;
    }
    return lookup_(text);
  }

  const std::vector<Token>& tokens_;
  Lookup lookup_;
  size_t at_ = 0;
};

class Counter {
 public:
  Counter(std::string name, const ReadInclude& read_include) : name_(std::move(name)), read_include_(read_include) {}

  TripReport count(std::string_view text) {
    load(text);
    collect_constants();
    collect_functions();
    if (!functions_.contains("main")) problem(1, "there is no main()");
    report_.trips = call("main");
    // A function without callers is checked too. Its loops must also be countable.
    for (const auto& [function, range] : functions_) call(function);
    if (report_.trips >= kTripBudget) {
      problem(1, "one invocation may run " + std::to_string(kTripBudget) +
                     " loop iterations or more; lavapipe would end its loops early");
    }
    std::sort(report_.problems.begin(), report_.problems.end());
    report_.problems.erase(std::unique(report_.problems.begin(), report_.problems.end()), report_.problems.end());
    return std::move(report_);
  }

 private:
  void problem(int line, const std::string& what) {
    report_.problems.push_back(name_ + ":" + std::to_string(line) + ": " + what);
  }

  // Cuts the text and its included files into tokens. Included code comes first, and a macro with a loop is a problem.
  void load(std::string_view text) {
    source_ = tokenize_shader(text);
    std::vector<Token> included;
    for (const std::string& name : source_.includes) {
      std::optional<std::string> body = read_include_ ? read_include_(name) : std::nullopt;
      if (!body) {
        problem(1, "the included \"" + name + "\" cannot be read");
        continue;
      }
      ShaderTokens other = tokenize_shader(*body);
      if (!other.includes.empty())
        problem(1, "the included \"" + name + "\" includes others, which the check does not follow");
      // Lines of an included file are negative, so that its bounds do not apply to this file.
      for (Token& token : other.tokens) token.line = -token.line - offset_;
      for (auto& [line, bound] : other.trip_bounds) source_.trip_bounds[-line - offset_] = bound;
      offset_ += 1000000;
      included.insert(included.end(), other.tokens.begin(), other.tokens.end());
      source_.macros.merge(other.macros);
    }
    source_.tokens.insert(source_.tokens.begin(), included.begin(), included.end());
    for (const Token& token : source_.tokens) code_lines_.insert(token.line);
    for (const auto& [name, macro] : source_.macros) {
      for (const Token& token : macro.body) {
        if (token == "for" || token == "while" || token == "do")
          problem(macro.line, "macro " + name + " holds a loop, which cannot be counted");
      }
    }
  }

  const Token& at(size_t index) const {
    static const Token kEnd{"", 0};
    return index < source_.tokens.size() ? source_.tokens[index] : kEnd;
  }

  // The index just behind the bracket that closes the one at `open`.
  size_t behind(size_t open) const {
    int depth = 0;
    for (size_t i = open; i < source_.tokens.size(); ++i) {
      const std::string& text = source_.tokens[i].text;
      if (text == "(" || text == "{" || text == "[") ++depth;
      if ((text == ")" || text == "}" || text == "]") && --depth == 0) return i + 1;
    }
    return source_.tokens.size();
  }

  size_t find(const std::string& text, size_t from, size_t end) const {
    for (size_t i = from; i < end; ++i) {
      if (at(i) == "(" || at(i) == "{" || at(i) == "[") {
        if (at(i) == text) return i;
        i = behind(i) - 1;
      } else if (at(i) == text) {
        return i;
      }
    }
    return end;
  }

  std::vector<Token> slice(size_t begin, size_t end) const {
    return {source_.tokens.begin() + static_cast<long>(std::min(begin, source_.tokens.size())),
            source_.tokens.begin() + static_cast<long>(std::min(end, source_.tokens.size()))};
  }

  std::optional<int64_t> constant(const std::string& name) {
    if (auto found = constants_.find(name); found != constants_.end()) return found->second;
    auto macro = source_.macros.find(name);
    if (macro == source_.macros.end() || macro->second.function_like || !expanding_.insert(name).second)
      return std::nullopt;
    std::optional<int64_t> value = evaluate(macro->second.body);
    expanding_.erase(name);
    return value;
  }
  std::optional<int64_t> evaluate(const std::vector<Token>& tokens) {
    return Expression(tokens, [this](const std::string& name) { return constant(name); }).value();
  }

  // Finds `const int N = 4;` at any depth. A name that is declared twice is not constant. Specialisation constants
  // change at run time, so they do not count.
  void collect_constants() {
    std::set<std::string> seen;
    for (size_t i = 0; i + 4 < source_.tokens.size(); ++i) {
      bool integer = at(i + 1) == "int" || at(i + 1) == "uint";
      if (!(at(i) == "const" && integer && at(i + 3) == "=")) continue;
      if (i > 0 && at(i - 1) == ")") continue;  // layout(constant_id = ...) const
      std::string name = at(i + 2).text;
      std::optional<int64_t> value = evaluate(slice(i + 4, find(";", i + 4, source_.tokens.size())));
      if (!seen.insert(name).second)
        constants_.erase(name);
      else if (value)
        constants_[name] = *value;
    }
  }

  // Finds NAME ( ... ) { ... } outside any function.
  void collect_functions() {
    for (size_t i = 0; i < source_.tokens.size(); ++i) {
      if (at(i) == "{" || at(i) == "[") {
        i = behind(i) - 1;
      } else if (at(i) == "(") {
        size_t close = behind(i);
        if (i > 0 && at(close) == "{") functions_[at(i - 1).text].push_back({close, behind(close)});
        i = close - 1;
      }
    }
  }

  // The trips of a call. The costliest overload counts.
  int64_t call(const std::string& function) {
    auto found = functions_.find(function);
    if (found == functions_.end()) return 0;
    if (auto known = costs_.find(function); known != costs_.end()) return known->second;
    if (!calling_.insert(function).second) {
      problem(at(found->second[0].first).line, function + "() calls itself");
      return kTripBudget;
    }
    int64_t worst = 0;
    for (auto [begin, end] : found->second) {
      size_t position = begin;
      worst = std::max(worst, statement(position, end));
    }
    calling_.erase(function);
    return costs_[function] = worst;
  }

  int64_t calls_in(size_t begin, size_t end) {
    int64_t trips = 0;
    for (size_t i = begin; i < end; ++i) {
      if (at(i + 1) == "(") trips = saturate(trips + call(at(i).text));
      auto macro = source_.macros.find(at(i).text);
      if (macro == source_.macros.end()) continue;
      for (size_t k = 0; k + 1 < macro->second.body.size(); ++k) {
        if (macro->second.body[k + 1] == "(") trips = saturate(trips + call(macro->second.body[k].text));
      }
    }
    return trips;
  }

  // The trips of the statement at `position`. Moves `position` behind it.
  int64_t statement(size_t& position, size_t end) {
    const Token first = at(position);
    if (first == "{") {
      size_t close = behind(position) - 1;
      int64_t trips = 0;
      for (++position; position < close;) trips = saturate(trips + statement(position, close));
      position = close + 1;
      return trips;
    }
    if (first == "for") return for_loop(position, end);
    if (first == "while") return while_loop(position, end);
    if (first == "do") return do_loop(position, end);
    if (first == "if") return if_statement(position, end);
    if (first == "switch") {
      size_t body = behind(position + 1);
      int64_t trips = calls_in(position + 2, body);
      position = body;
      return saturate(trips + statement(position, end));
    }
    if (first == "case" || first == "default") {
      position = find(":", position, end) + 1;
      return 0;
    }
    size_t stop = find(";", position, end);
    int64_t trips = calls_in(position, stop);
    position = stop + 1;
    return trips;
  }

  int64_t if_statement(size_t& position, size_t end) {
    size_t then = behind(position + 1);
    int64_t condition = calls_in(position + 2, then);
    position = then;
    int64_t branch = statement(position, end);
    if (position < end && at(position) == "else") {
      ++position;
      branch = std::max(branch, statement(position, end));
    }
    return saturate(condition + branch);
  }

  int64_t for_loop(size_t& position, size_t end) {
    const int line = at(position).line;
    size_t open = position + 1, body = behind(open);
    size_t first = find(";", open + 1, body), second = find(";", first + 1, body);
    std::optional<int64_t> count = bound_in_comment(line);
    if (!count) count = simulate(slice(open + 1, first), slice(first + 1, second), slice(second + 1, body - 1));
    int64_t header = calls_in(open + 1, body);
    position = body;
    return loop(line, count, header, position, end);
  }

  int64_t while_loop(size_t& position, size_t end) {
    const int line = at(position).line;
    size_t body = behind(position + 1);
    int64_t header = calls_in(position + 2, body);
    position = body;
    return loop(line, bound_in_comment(line), header, position, end);
  }

  int64_t do_loop(size_t& position, size_t end) {
    const int line = at(position).line;
    ++position;
    int64_t trips = loop(line, bound_in_comment(line), 0, position, end);
    position = find(";", position, end) + 1;  // while (...);
    return trips;
  }

  int64_t loop(int line, std::optional<int64_t> count, int64_t header, size_t& position, size_t end) {
    ++report_.loops;
    if (!count) problem(line, "the iterations of this loop cannot be counted; write `// trips <= N` beside it");
    int64_t times = saturate(std::max<int64_t>(count.value_or(1), 0));
    return saturate(times * saturate(1 + header + statement(position, end)));
  }

  std::optional<int64_t> bound_in_comment(int line) {
    for (int where : {line, line > 0 ? line - 1 : line + 1}) {
      auto found = source_.trip_bounds.find(where);
      // A comment alone on the line above counts. A comment behind code belongs to that line's loop.
      if (found == source_.trip_bounds.end() || (where != line && code_lines_.contains(where))) continue;
      std::vector<Token> tokens = tokenize_expression(found->second, line);
      return Expression(tokens, [this](const std::string& name) { return constant(name); }).leading_value();
    }
    return std::nullopt;
  }

  // Runs `int i = A; i < B; i += C` as written, up to the budget.
  std::optional<int64_t> simulate(const std::vector<Token>& init, const std::vector<Token>& condition,
                                  const std::vector<Token>& step) {
    size_t equals = 0;
    while (equals < init.size() && !(init[equals] == "=")) ++equals;
    if (equals == 0 || equals + 1 >= init.size() || condition.size() < 3 || !(condition[0] == init[equals - 1].text))
      return std::nullopt;
    const std::string variable = init[equals - 1].text;
    std::optional<int64_t> value = evaluate({init.begin() + static_cast<long>(equals) + 1, init.end()});
    std::optional<int64_t> limit = evaluate({condition.begin() + 2, condition.end()});
    if (!value || !limit) return std::nullopt;
    int64_t trips = 0;
    while (trips < kTripBudget && compare(condition[1].text, *value, *limit)) {
      value = advance(variable, step, *value);
      if (!value) return std::nullopt;
      ++trips;
    }
    return trips;
  }

  static bool compare(const std::string& op, int64_t a, int64_t b) {
    if (op == "<") return a < b;
    if (op == "<=") return a <= b;
    if (op == ">") return a > b;
    if (op == ">=") return a >= b;
    return op != "!=" || a != b;  // any other loop counts as endless
  }

  std::optional<int64_t> advance(const std::string& variable, const std::vector<Token>& step, int64_t value) {
    if (step.size() == 2) {
      const Token& op = step[0] == variable ? step[1] : step[0];
      if (!(step[0] == variable) && !(step[1] == variable)) return std::nullopt;
      if (op == "++") return value + 1;
      if (op == "--") return value - 1;
      return std::nullopt;
    }
    if (step.size() < 3 || !(step[0] == variable)) return std::nullopt;
    std::optional<int64_t> amount = evaluate({step.begin() + 2, step.end()});
    if (!amount) return std::nullopt;
    const std::string& op = step[1].text;
    if (op == "+=") return value + *amount;
    if (op == "-=") return value - *amount;
    if (op == "*=") return value * *amount;
    if (op == "/=" && *amount != 0) return value / *amount;
    if (op == "<<=" && *amount >= 0 && *amount < 32) return value << *amount;
    if (op == ">>=" && *amount >= 0 && *amount < 32) return value >> *amount;
    return std::nullopt;
  }

  std::string name_;
  const ReadInclude& read_include_;
  int offset_ = 0;
  ShaderTokens source_;
  TripReport report_;
  std::map<std::string, int64_t> constants_, costs_;
  std::map<std::string, std::vector<std::pair<size_t, size_t>>> functions_;  // the bodies, by name
  std::set<std::string> expanding_, calling_;
  std::set<int> code_lines_;
};

}  // namespace

TripReport count_trips(const std::string& name, std::string_view text, const ReadInclude& read_include) {
  return Counter(name, read_include).count(text);
}

}  // namespace tandem::house
