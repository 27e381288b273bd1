// The engine's side of Logits: the buffer that passes write logits to.
#pragma once

#include <memory>
#include <span>

#include "tandem/sequence.h"

namespace tandem {

class LogitsBuffer {
 public:
  ~LogitsBuffer() { before_overwriting(); }
  // The logits of the pass that runs next. values: the place in the buffer where they will be.
  Logits lend(std::span<const float> values);
  // Called before anything else writes to the buffer. Copies the last pass's logits if an object still refers to them.
  void before_overwriting();

 private:
  std::weak_ptr<Logits::State> lent_;
};

}  // namespace tandem
