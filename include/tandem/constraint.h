// Output that keeps its form: texts that satisfy a JSON schema or a grammar (docs/constrained.md).
//
// A constraint says after each token which tokens may come next. The sampler draws among these alone. The text ends
// when nothing may follow; an end token is allowed where the text may end.
//
// Contract: what cannot be enforced is an Error that names it, when the constraint is made. Interrupted: the program is
// asked to stop meanwhile. Values are made once and shared by any number of texts and threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tandem {

class Tokenizer;

class Constraint {
 public:
  class State;
  explicit Constraint(std::unique_ptr<State> state);
  ~Constraint();
  Constraint(const Constraint&) = delete;
  Constraint& operator=(const Constraint&) = delete;
  State& state() const { return *state_; }  // for this project's own programs

 private:
  const std::unique_ptr<State> state_;
};

// Makes constraints for the texts of one tokenizer. It sorts the vocabulary once.
//
// Contract: thread-safe. Constraints may outlive it, and the tokenizer. name: of the schema or the grammar, for errors.
class ConstraintMaker {
 public:
  explicit ConstraintMaker(const Tokenizer& tokenizer);
  ~ConstraintMaker();
  ConstraintMaker(const ConstraintMaker&) = delete;
  ConstraintMaker& operator=(const ConstraintMaker&) = delete;

  // Error: the schema is broken, has a keyword that is not known, or no text can satisfy it.
  std::shared_ptr<const Constraint> json_schema(std::string_view schema,
                                                const std::string& name = "the JSON schema") const;
  std::shared_ptr<const Constraint> json_object() const;  // any JSON object
  // A grammar in llama.cpp's notation (GBNF). Error: it is broken, or no text can satisfy it.
  std::shared_ptr<const Constraint> grammar(std::string_view gbnf, const std::string& name = "the grammar") const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace tandem
