// Forms that a text must keep, from flags and from lines of a file. Compiled forms are kept, because many lines often
// have the same schema.
#include "engine/app/commands/text/constraints.h"

#include "engine/app/text_input.h"
#include "engine/constraint/json/schema_rules.h"
#include "engine/constraint/text/gbnf.h"

namespace tandem::app {
namespace {

constexpr size_t kMostKept = 64;  // a file of lines may have a schema of its own in each

}  // namespace

// The file is parsed before the model is loaded, so a mistake in a schema is found at once.
Form read_form(const FormFlags& flags) {
  Form form;
  if (!flags.json_schema.empty()) {
    form = {Form::Kind::json_schema, read_file(flags.json_schema), flags.json_schema};
    constraint::schema_rules(form.text, form.name);
  } else if (!flags.grammar.empty()) {
    form = {Form::Kind::grammar, read_file(flags.grammar), flags.grammar};
    constraint::parse_gbnf(form.text, form.name);
  } else if (flags.json_object) {
    form.kind = Form::Kind::json_object;
  }
  return form;
}

// Errors name the file, or the member of the line that the form came from.
std::shared_ptr<const Constraint> Constraints::compiled(const Form& form) const {
  if (form.kind == Form::Kind::json_object) return maker_->json_object();
  return form.kind == Form::Kind::grammar ? maker_->grammar(form.text, form.name)
                                          : maker_->json_schema(form.text, form.name);
}

// The maker reads the vocabulary once, when the first form is wanted. The kept forms are dropped together when they are
// too many.
std::shared_ptr<const Constraint> Constraints::made(const Form& form) {
  if (form.kind == Form::Kind::none) return nullptr;
  if (!maker_) maker_ = std::make_unique<ConstraintMaker>(tokenizer_);
  if (known_.size() >= kMostKept) known_.clear();
  std::shared_ptr<const Constraint>& known = known_[{form.kind, form.text}];
  if (!known) known = compiled(form);
  return known;
}

// A line's own form replaces the one of the flags.
std::shared_ptr<const Constraint> Constraints::of(const PromptLine& line) {
  if (line.json_schema) return made({Form::Kind::json_schema, *line.json_schema, "\"json_schema\""});
  if (line.grammar) return made({Form::Kind::grammar, *line.grammar, "\"grammar\""});
  return common_;
}

}  // namespace tandem::app
