// Reads a grammar in llama.cpp's notation into a net of rules. Users write grammars by hand, so every error names line
// and column.
#include "engine/constraint/text/gbnf.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/constraint/text/code_points.h"
#include "engine/constraint/text/text_pieces.h"
#include "sync/error.h"

namespace tandem::constraint {
namespace {

constexpr size_t kMostGrammarBytes = size_t{1} << 20;
constexpr int kDeepestBrackets = 100;
constexpr int kMostQuantifiers = 8;  // of one item: (x+)? is written without brackets
constexpr int64_t kMostTimes = 100'000;

// The tree of one rule's body. A leaf has a text, a set or the number of a rule, and other kinds have parts.
struct Item {
  enum class Kind { text, set, rule, sequence, choice, repeat } kind = Kind::sequence;
  std::string text{};
  CharacterSet set{};
  RuleId rule = -1;
  std::vector<std::unique_ptr<Item>> items{};
  int64_t least = 0, most = -1;
};
using ItemPointer = std::unique_ptr<Item>;

ItemPointer item_of(Item::Kind kind) {
  auto item = std::make_unique<Item>();
  item->kind = kind;
  return item;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// Lays one item of a rule between two states. A sequence gets a state between its parts, and a choice shares both ends.
void lay(RuleNet& net, StateId from, const Item& item, StateId to) {
  switch (item.kind) {
    case Item::Kind::text:
      return net.add_text(from, item.text, to);
    case Item::Kind::set:
      return add_characters(net, from, item.set, to);
    case Item::Kind::rule:
      return net.add_call(from, item.rule, to);
    case Item::Kind::sequence: {
      for (const ItemPointer& one : item.items) {
        const StateId next = net.add_state();
        lay(net, from, *one, next);
        from = next;
      }
      return net.add_nothing(from, to);
    }
    case Item::Kind::choice:
      for (const ItemPointer& one : item.items) lay(net, from, *one, to);
      return;
    case Item::Kind::repeat:
      return add_repeated(
          net, from, item.least, item.most,
          [&](RuleNet& into, StateId begin, StateId end) { lay(into, begin, *item.items[0], end); }, to);
  }
}

// A reader by recursive descent: one function for each level of the notation. Bodies are laid into the net at the end,
// when all rules have their numbers.
class GrammarReader {
 public:
  GrammarReader(std::string_view text, const std::string& on) : text_(text), on_(on) {}

  // A rule may be used before it is written, so bodies are laid into the net when all are known.
  RuleNet read() {
    rule_named("root", 0);
    skip_blanks(true);
    while (!at_end()) rule();
    for (const auto& [name, known] : names_)
      if (!known.body) fail_at(known.first_use, "the rule " + name + " is missing");
    for (const auto& [name, known] : names_) lay(net_, net_.start(known.rule), *known.body, net_.end(known.rule));
    return std::move(net_);
  }

 private:
  // A rule is known from its first use or from its definition, whichever comes first. A body that is missing at the end
  // is reported at the first use.
  struct Known {
    RuleId rule = -1;
    size_t first_use = 0;
    ItemPointer body{};
  };

  bool at_end() const { return place_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[place_]; }
  bool take(char c) {
    if (at_end() || text_[place_] != c) return false;
    ++place_;
    return true;
  }
  [[noreturn]] void fail_at(size_t place, const std::string& what) const {
    const std::string_view before = text_.substr(0, place);
    const auto line = std::ranges::count(before, '\n') + 1;
    const size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    throw Error("the grammar cannot be read: " + what,
                on_ + ", line " + std::to_string(line) + ", column " + std::to_string(place - line_begin + 1),
                "docs/constrained.md describes the notation");
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(place_, what); }

  // Comments count as blanks. Within a rule a line break may end it, so the caller says whether lines are blanks too.
  void skip_blanks(bool lines_too) {
    while (!at_end()) {
      const char c = peek();
      if (c == '#') {
        while (!at_end() && peek() != '\n') ++place_;
      } else if (c == ' ' || c == '\t' || c == '\r' || (lines_too && c == '\n')) {
        ++place_;
      } else {
        return;
      }
    }
  }

  // Behind a whole sequence: whether an alternative follows, perhaps on a later line. The end of a line ends a rule
  // unless the next line begins with |.
  bool next_alternative(bool in_brackets) {
    skip_blanks(in_brackets);
    const size_t here = place_;
    skip_blanks(true);
    if (take('|')) return true;
    place_ = here;
    return false;
  }

  // The first use of a name is remembered, since an error about a missing rule should point there.
  Known& rule_named(const std::string& name, size_t place) {
    Known& known = names_[name];
    if (known.rule < 0) {
      known.rule = net_.add_rule(name);
      known.first_use = place;
    }
    return known;
  }

  // An empty name means that there is none here; the caller says what was expected.
  std::string name() {
    std::string name;
    while (!at_end() && is_name_character(peek())) name += text_[place_++];
    return name;
  }

  // A rule is its name, ::= and its alternatives.
  void rule() {
    const size_t begin = place_;
    const std::string name = this->name();
    if (name.empty()) fail("a rule's name is expected here");
    skip_blanks(false);
    if (text_.substr(place_, 3) != "::=") fail("::= is expected behind the name of a rule");
    place_ += 3;
    if (rule_named(name, begin).body) fail_at(begin, "the rule " + name + " is there twice");
    skip_blanks(true);
    ItemPointer body = choice(0);
    names_[name].body = std::move(body);
    skip_blanks(false);
    if (!at_end() && peek() != '\n') fail("the end of the rule is expected here");
    skip_blanks(true);
  }

  // Alternatives, of which one may be empty. The depth is that of brackets.
  ItemPointer choice(int depth) {
    if (depth > kDeepestBrackets) fail("brackets are nested too deep");
    auto all = item_of(Item::Kind::choice);
    do {
      skip_blanks(true);
      all->items.push_back(sequence(depth));
    } while (next_alternative(depth > 0));
    return all;
  }

  // Items one behind the other. Outside of brackets a line's end ends them.
  ItemPointer sequence(int depth) {
    auto all = item_of(Item::Kind::sequence);
    while (true) {
      skip_blanks(depth > 0);
      if (at_end() || peek() == '\n' || peek() == '|' || peek() == ')') return all;
      all->items.push_back(repeated(depth));
    }
  }

  // Repetitions may follow each other: (x+)? may be written x+?.
  ItemPointer repeated(int depth) {
    ItemPointer one = item(depth);
    for (int quantifiers = 0;; ++quantifiers) {
      if (quantifiers > kMostQuantifiers) fail("too many repetitions of one item");
      skip_blanks(depth > 0);
      auto all = item_of(Item::Kind::repeat);
      if (take('*')) {
        all->least = 0;
      } else if (take('+')) {
        all->least = 1;
      } else if (take('?')) {
        all->most = 1;
      } else if (take('{')) {
        times(*all);
      } else {
        return one;
      }
      all->items.push_back(std::move(one));
      one = std::move(all);
    }
  }

  // The numbers of {m}, {m,} and {m,n}.
  void times(Item& all) {
    skip_blanks(true);
    all.least = all.most = number();
    skip_blanks(true);
    if (take(',')) {
      skip_blanks(true);
      all.most = peek() == '}' ? -1 : number();
      skip_blanks(true);
    }
    if (!take('}')) fail("} is expected here");
    if (all.most >= 0 && all.most < all.least) fail("the numbers of a repetition fall");
  }

  // Numbers are limited here, because each of them makes as many states.
  int64_t number() {
    if (at_end() || peek() < '0' || peek() > '9') fail("a number is expected here");
    int64_t value = 0;
    while (!at_end() && peek() >= '0' && peek() <= '9') {
      value = value * 10 + (text_[place_++] - '0');
      if (value > kMostTimes) fail("a repetition above " + std::to_string(kMostTimes));
    }
    return value;
  }

  // The kind of an item is clear from its first character.
  ItemPointer item(int depth) {
    const size_t begin = place_;
    if (take('"')) return literal(begin);
    if (take('[')) return char_class(begin);
    if (take('.')) {
      auto any = item_of(Item::Kind::set);
      any->set = CharacterSet::all();
      return any;
    }
    if (take('(')) {
      ItemPointer inside = choice(depth + 1);
      skip_blanks(true);
      if (!take(')')) fail(") is expected here");
      return inside;
    }
    if (peek() == '<' || peek() == '!') fail("tokens in a grammar (<...>) are not known; write their text");
    const std::string called = name();
    if (called.empty()) fail("a text, a class, a group or a rule is expected here");
    auto call = item_of(Item::Kind::rule);
    call->rule = rule_named(called, begin).rule;
    return call;
  }

  // A text in quotes is kept as bytes, which the net reads one by one.
  ItemPointer literal(size_t begin) {
    auto text = item_of(Item::Kind::text);
    while (!take('"')) {
      if (at_end() || peek() == '\n') fail_at(begin, "a text without its end");
      append_character(text->text, character());
    }
    return text;
  }

  // A minus in front of ] is a character and no range.
  ItemPointer char_class(size_t begin) {
    auto item = item_of(Item::Kind::set);
    const bool is_negated = take('^');
    std::vector<CharacterSet::Range> ranges;
    while (!take(']')) {
      if (at_end() || peek() == '\n') fail_at(begin, "a class without its end");
      const char32_t low = character();
      char32_t high = low;
      if (peek() == '-' && place_ + 1 < text_.size() && text_[place_ + 1] != ']') {
        ++place_;
        high = character();
      }
      if (high < low) fail("the ends of a range are swapped");
      ranges.push_back({low, high});
    }
    item->set = CharacterSet(std::move(ranges));
    if (is_negated) item->set = item->set.complement();
    if (item->set.empty()) fail_at(begin, "a class without characters");
    return item;
  }

  char32_t character() {
    if (take('\\')) return escape();
    const auto first = first_character(text_.substr(place_));
    if (!first) fail("this is not UTF-8");
    place_ += first->bytes;
    return first->code;
  }

  // The escapes are those of llama.cpp. Any other one is an error, since it may mean something elsewhere.
  char32_t escape() {
    if (at_end()) fail("an escape without its character");
    switch (const char c = text_[place_++]) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'x':
        return hex(2);
      case 'u':
        return hex(4);
      case 'U':
        return hex(8);
      case '"':
      case '\\':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(c);
      default:
        --place_;
        fail(std::string("the escape \\") + c + " is not known");
    }
  }

  // Surrogates and numbers beyond Unicode are no characters.
  char32_t hex(int digits) {
    const size_t begin = place_;
    uint32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = peek();
      const int lower = c | 0x20;
      if (c >= '0' && c <= '9')
        value = value * 16 + static_cast<uint32_t>(c - '0');
      else if (lower >= 'a' && lower <= 'f')
        value = value * 16 + static_cast<uint32_t>(lower - 'a' + 10);
      else
        fail_at(begin, "an escape has " + std::to_string(digits) + " hexadecimal digits");
      ++place_;
    }
    if (value > kLastCharacter || is_surrogate(value)) fail_at(begin, "this is no character");
    return value;
  }

  const std::string_view text_;
  const std::string& on_;
  size_t place_ = 0;
  RuleNet net_;
  std::map<std::string, Known> names_;
};

}  // namespace

// The size is bounded before anything is read, because grammars come from requests too.
RuleNet parse_gbnf(std::string_view text, const std::string& on) {
  if (text.size() > kMostGrammarBytes)
    throw Error("the grammar is too large", on, "It may have " + std::to_string(kMostGrammarBytes) + " bytes");
  return GrammarReader(text, on).read();
}

}  // namespace tandem::constraint
