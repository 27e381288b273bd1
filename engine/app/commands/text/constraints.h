// The form that texts must keep: --json-schema, --grammar, --json-object, and the same of a line of --jsonl.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/app/commands/text/many_prompts.h"
#include "engine/app/common_flags.h"
#include "tandem/constraint.h"
#include "tandem/tokenizer.h"

namespace tandem::app {

// A schema or a grammar as it was written. name: for errors.
struct Form {
  enum class Kind { none, json_schema, grammar, json_object } kind = Kind::none;
  std::string text{}, name{};
};

// Reads the flags' file. It is called before a model is opened, because it needs none. Error: the file cannot be read,
// or a part of it cannot be enforced.
Form read_form(const FormFlags& flags);

// Contract: the vocabulary is sorted when the first constraint is made, and equal forms are compiled once. Refers to
// the tokenizer, which must outlive it. Not thread-safe. Errors are those of ConstraintMaker.
class Constraints {
 public:
  Constraints(const Tokenizer& tokenizer, const Form& common) : tokenizer_(tokenizer), common_(made(common)) {}
  const std::shared_ptr<const Constraint>& common() const { return common_; }  // null: none
  std::shared_ptr<const Constraint> of(const PromptLine& line);                // its own, or the common one

 private:
  std::shared_ptr<const Constraint> made(const Form& form);
  std::shared_ptr<const Constraint> compiled(const Form& form) const;
  const Tokenizer& tokenizer_;
  std::unique_ptr<ConstraintMaker> maker_;  // null: none was asked for
  std::map<std::pair<Form::Kind, std::string>, std::shared_ptr<const Constraint>> known_;
  const std::shared_ptr<const Constraint> common_;  // declared last, because it is made of the others
};

}  // namespace tandem::app
