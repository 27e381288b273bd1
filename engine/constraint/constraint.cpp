// Constraints as users of the library see them. The rooms below read schemas and grammars, and make the automaton.
#include "engine/constraint/constraint.h"

#include "engine/constraint/json/schema_rules.h"
#include "engine/constraint/text/gbnf.h"

namespace tandem {

Constraint::Constraint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Constraint::~Constraint() = default;

// A maker keeps the vocabulary's tree of tokens, which takes long to build, for all constraints that it makes.
class ConstraintMaker::State {
 public:
  explicit State(const Tokenizer& tokenizer) : tokens_(std::make_shared<constraint::TokenTexts>(tokenizer)) {}
  std::shared_ptr<const Constraint> of(const constraint::RuleNet& net, const std::string& name) const {
    return std::make_shared<Constraint>(
        std::make_unique<Constraint::State>(std::make_shared<constraint::Automaton>(net, tokens_, name)));
  }

 private:
  const std::shared_ptr<const constraint::TokenTexts> tokens_;
};

ConstraintMaker::ConstraintMaker(const Tokenizer& tokenizer) : state_(std::make_unique<State>(tokenizer)) {}
ConstraintMaker::~ConstraintMaker() = default;

// Each kind of constraint becomes the same net of rules. Only the reader of its text differs.
std::shared_ptr<const Constraint> ConstraintMaker::json_schema(std::string_view schema, const std::string& name) const {
  return state_->of(constraint::schema_rules(schema, name), name);
}

std::shared_ptr<const Constraint> ConstraintMaker::json_object() const {
  return state_->of(constraint::any_object_rules(), "a JSON object");
}

std::shared_ptr<const Constraint> ConstraintMaker::grammar(std::string_view gbnf, const std::string& name) const {
  return state_->of(constraint::parse_gbnf(gbnf, name), name);
}

}  // namespace tandem
