// The engine's side of Logits: the buffers that passes write logits to.
//
// Contract
//   Passes write to the first buffer whose values are not kept in place. One buffer is always free, and there are at
//   most three. A pass needs programs for each buffer that it writes to, so further ones are made when they are needed.
//   Threads: the orchestrator's. The last object of kept logits may go on any thread. Ownership: borrows the
//   activations, which own the buffers. Kept values keep their memory, also after the activations' end.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/graph/activations.h"
#include "tandem/sequence.h"

namespace tandem {

class LogitsBuffers {
 public:
  explicit LogitsBuffers(Activations& activations) : activations_(activations) {}
  ~LogitsBuffers() { before_overwriting(); }
  LogitsBuffers(const LogitsBuffers&) = delete;
  LogitsBuffers& operator=(const LogitsBuffers&) = delete;

  // The buffer for the pass that runs next: an index of Activations::logits (Batch::logits).
  size_t next();
  // The logits of that pass: the first `values` of the buffer.
  Logits lend(size_t buffer, size_t values);
  // As Engine::keep_in_place().
  bool keep_in_place(const Logits& logits);

 private:
  void before_overwriting();
  bool has_free_beside(size_t buffer);

  Activations& activations_;
  std::weak_ptr<Logits::State> lent_;  // the last pass's logits, unless they are copied or kept
  size_t lent_from_ = 0;
};

}  // namespace tandem
