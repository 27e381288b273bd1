// Dims what stands between <think> and </think> in a text that comes in pieces.
//
// Contract: a mark may be divided over pieces; what may be the beginning of one is held back. Pure but for `put`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tandem::app {

class ThoughtPrinter {
 public:
  using Put = std::function<void(std::string_view)>;
  // dims: with the codes of a terminal; otherwise pieces go through as they are.
  ThoughtPrinter(bool dims, Put put);
  void begin(bool in_thought);  // the text begins within thoughts
  void print(std::string_view piece);
  void end();  // hands over what is held back, and ends dimming

 private:
  std::string_view mark() const { return in_thought_ ? "</think>" : "<think>"; }
  void pass_mark(size_t place);
  const bool dims_;
  const Put put_;
  bool in_thought_ = false;
  std::string held_;
};

}  // namespace tandem::app
