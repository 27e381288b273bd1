// The logits of one pass.
//
// Contract
//   Shape: f32 [rows, vocabulary]. Each token that asked for logits has a row, in the order of the pass.
//   Ownership: the values stay valid while a Logits object refers to them, also after later passes and after the
//   engine's end. A pass leaves them in a buffer of the engine. They are copied out of it only if an object still
//   refers to them when the engine overwrites the buffer. So a caller that drops them before the next pass pays
//   nothing. A span of the values is a view, which the engine's next pass ends.
//   Threads: one at a time, with the calls of the engine.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tandem {

class Logits {
 public:
  Logits() = default;  // no rows
  std::span<const float> values() const { return state_ ? state_->values : std::span<const float>(); }
  operator std::span<const float>() const { return values(); }
  size_t size() const { return values().size(); }
  const float* data() const { return values().data(); }
  auto begin() const { return values().begin(); }
  auto end() const { return values().end(); }
  float operator[](size_t i) const { return values()[i]; }

 private:
  friend class LogitsBuffer;
  struct State {
    std::span<const float> values;
    std::vector<float> copy;  // empty: the values lie in the engine's buffer
  };
  std::shared_ptr<State> state_;
};

// The engine's side: the buffer that passes write logits to.
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
