#include "engine/model/chat/template_rendering.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/model/chat/template_blocks.h"
#include "engine/model/chat/template_expression.h"

namespace tandem {
namespace {

constexpr int kMostSteps = 20000;  // blocks that may run
constexpr int kMostNestedBlocks = 100;
constexpr size_t kMostOutputBytes = size_t{1} << 24;

using Fields = std::map<std::string, TemplateValue>;

TemplateValue text_value(const std::string& text, bool of_user = false) { return {MarkedText(text, of_user)}; }
TemplateValue list_of(TemplateValue one) { return {std::make_shared<std::vector<TemplateValue>>(1, std::move(one))}; }

// Whether the block opens a nested part that an `end...` closes.
bool opens(const TemplateBlock& block) {
  if (block.is("set"))  // {% set name %}text{% endset %}
    return std::ranges::none_of(block.tokens, [](const TemplateToken& token) { return token.text == "="; });
  return block.is("if") || block.is("for") || block.is("macro") || block.is("call") || block.is("filter");
}
// `generation` opens no part here, so its end closes none.
bool closes(const TemplateBlock& block) {
  return block.kind == TemplateBlock::Kind::statement && block.tokens.front().text.starts_with("end") &&
         !block.is("endgeneration");
}

// Runs the blocks in order, and jumps over the branches that do not apply. Names of Jinja's functions have the
// value Unknown.
class Rendering {
 public:
  // The variables describe a conversation with one message, the user's. The template is asked to begin the answer.
  Rendering(std::vector<TemplateBlock> blocks, const TemplateInput& input) : blocks_(std::move(blocks)) {
    for (const char* name : {"strftime_now", "raise_exception", "range", "dict", "namespace", "cycler", "joiner"})
      scopes_.set(name, {Unknown{"`" + std::string(name) + "`"}});
    const Fields message = {{"role", text_value("user")}, {"content", text_value(input.user, true)}};
    scopes_.set("messages", list_of({std::make_shared<Fields>(message)}));
    scopes_.set("add_generation_prompt", {true});
    if (!input.bos_token.empty()) scopes_.set("bos_token", text_value(input.bos_token));
    if (!input.eos_token.empty()) scopes_.set("eos_token", text_value(input.eos_token));
  }

  MarkedText all() {
    run(0, blocks_.size());
    return std::move(out_);
  }

 private:
  // Index of the block that ends the part beginning at `at`: `else`, `elif` or `end...` of the same depth.
  size_t next_part(size_t at) const {
    int depth = 0;
    for (size_t i = at + 1; i < blocks_.size(); ++i) {
      const TemplateBlock& block = blocks_[i];
      if (depth == 0 && (closes(block) || block.is("else") || block.is("elif"))) return i;
      depth += opens(block) ? 1 : closes(block) ? -1 : 0;
    }
    throw TemplateRefused("a statement without its end");
  }
  // Index of the block that closes the statement at `at`.
  size_t end_of(size_t at) const {
    do at = next_part(at);
    while (!closes(blocks_[at]));
    return at;
  }

  // Runs the blocks [begin, end). A template comes with the model's file and may be made to run for ever. So its steps,
  // its depth and its output are limited.
  void run(size_t begin, size_t end) {
    if (++depth_ > kMostNestedBlocks) throw TemplateRefused("deeply nested statements");
    for (size_t at = begin; at < end; ++at) {
      if (++steps_ > kMostSteps || out_.bytes() > kMostOutputBytes) throw TemplateRefused("a template without end");
      const TemplateBlock& block = blocks_[at];
      if (block.kind == TemplateBlock::Kind::text)
        out_.append(MarkedText(block.text));
      else if (block.kind == TemplateBlock::Kind::output)
        print(block);
      else
        at = state(at);
    }
    --depth_;
  }

  void print(const TemplateBlock& block) {
    TemplateExpressions expressions(block.tokens, scopes_);
    out_.append(printed(whole(expressions)));
  }
  // Tokens behind an expression are syntax that is not implemented, so they are refused.
  static TemplateValue whole(TemplateExpressions& expressions) {
    TemplateValue value = expressions.next();
    if (!expressions.at_end()) throw TemplateRefused("an expression that is not built here");
    return value;
  }

  // Runs a statement. Returns the block where it ends.
  size_t state(size_t at) {
    const TemplateBlock& block = blocks_[at];
    if (block.is("if")) return run_if(at);
    if (block.is("for")) return run_for(at);
    if (block.is("macro")) return end_of(at);
    if (block.is("set") && !opens(block)) {
      set(block);
    } else if (!block.is("generation") && !block.is("endgeneration")) {
      throw TemplateRefused("the statement `" + block.tokens.front().text + "`");
    }
    return at;
  }

  TemplateExpressions inner(const TemplateBlock& block) {  // the expressions after the statement's name
    return {std::span(block.tokens).subspan(1), scopes_};
  }

  // Runs the first branch whose condition holds; `else` always holds.
  size_t run_if(size_t at) {
    const size_t end = end_of(at);
    for (;;) {
      const TemplateBlock& head = blocks_[at];
      const size_t part = next_part(at);
      TemplateExpressions condition = inner(head);
      if (head.is("else") || is_true(whole(condition))) {
        run(at + 1, part);
        return end;
      }
      if (part == end) return end;
      at = part;
    }
  }

  // Runs the body once for each value, each time in a new scope. An empty list runs the part after `else`.
  size_t run_for(size_t at) {
    const size_t end = end_of(at), body_end = next_part(at);
    TemplateExpressions head = inner(blocks_[at]);
    const std::string name = head.name();
    head.require("in");
    const TemplateValue of = whole(head);
    // An unknown list cannot be run through, so the template is refused.
    if (const auto* missing = of.as<Unknown>()) throw TemplateRefused(missing->what);
    const auto* list = of.as<TemplateList>();
    if (!list && !of.as<Undefined>()) throw TemplateRefused("a loop over what is no list");
    const std::vector<TemplateValue> values = list ? **list : std::vector<TemplateValue>{};
    for (size_t i = 0; i < values.size(); ++i) {
      scopes_.enter();
      scopes_.set(name, values[i]);
      scopes_.set("loop", loop(values, i));
      run(at + 1, body_end);
      scopes_.leave();
    }
    // The part after `else`.
    if (values.empty() && body_end != end) run(body_end + 1, end);
    return end;
  }

  // Jinja's `loop` variable for value i.
  static TemplateValue loop(const std::vector<TemplateValue>& values, size_t i) {
    const auto at = static_cast<int64_t>(i), count = std::ssize(values);
    Fields fields = {{"index", {at + 1}},
                     {"index0", {at}},
                     {"length", {count}},
                     {"revindex", {count - at}},
                     {"first", {at == 0}},
                     {"last", {at + 1 == count}},
                     {"revindex0", {count - at - 1}}};
    if (i > 0) fields["previtem"] = values[i - 1];
    if (i + 1 < values.size()) fields["nextitem"] = values[i + 1];
    return {std::make_shared<Fields>(std::move(fields))};
  }

  // `set name = value` or `set name.field = value`.
  void set(const TemplateBlock& block) {
    TemplateExpressions parts = inner(block);
    const std::string name = parts.name();
    std::string field;
    if (parts.take(".")) field = parts.name();
    parts.require("=");
    TemplateValue value = whole(parts);
    if (field.empty()) return scopes_.set(name, std::move(value));
    // All copies of a value share its fields. So a field that is set inside a loop outlives the loop's scope.
    const TemplateValue object = scopes_.get(name);
    const auto* fields = object.as<TemplateFields>();
    if (!fields) throw TemplateRefused("a part of what has none");
    (**fields)[field] = std::move(value);
  }

  std::vector<TemplateBlock> blocks_;
  TemplateScopes scopes_;
  MarkedText out_;
  int steps_ = 0, depth_ = 0;
};

}  // namespace

MarkedText render_user_turn(std::string_view chat_template, const TemplateInput& input) {
  return Rendering(template_blocks(chat_template), input).all();
}

}  // namespace tandem
