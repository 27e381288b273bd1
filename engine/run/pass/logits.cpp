#include "engine/run/pass/logits.h"

namespace tandem {

Logits LogitsBuffer::lend(std::span<const float> values) {
  before_overwriting();
  Logits logits;
  logits.state_ = std::make_shared<Logits::State>(Logits::State{values, {}});
  lent_ = logits.state_;
  return logits;
}

// The buffer knows the last pass's logits only by a weak reference. If nobody refers to them, there is nothing to copy.
void LogitsBuffer::before_overwriting() {
  if (const std::shared_ptr<Logits::State> state = lent_.lock()) {
    state->copy.assign(state->values.begin(), state->values.end());
    state->values = state->copy;
  }
  lent_.reset();
}

}  // namespace tandem
