// The engine's side of Constraint: the automaton that texts walk.
#pragma once

#include <memory>
#include <utility>

#include "engine/constraint/automaton/matcher.h"
#include "tandem/constraint.h"

namespace tandem {

class Constraint::State {
 public:
  explicit State(std::shared_ptr<constraint::Automaton> automaton) : automaton_(std::move(automaton)) {}
  // may_stop: an end token may come where the text may end.
  std::unique_ptr<constraint::Matcher> new_matcher(bool may_stop = true) const {
    return std::make_unique<constraint::Matcher>(automaton_, may_stop);
  }

 private:
  const std::shared_ptr<constraint::Automaton> automaton_;
};

}  // namespace tandem
