// A text that is taken piece by piece, on the caller's own thread.
//
// Contract: next() and the destructor belong to one thread at a time; cancel() to any. The destructor cancels the text,
// and waits until it has ended. Pieces wait in memory until they are taken.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bindings/text_model.h"

namespace tandem::bindings {

struct Piece {
  int32_t id = -1;  // -1: text that was held back, at the end
  float logprob = 0;
  std::string text;  // whole characters; may be empty
};

class TextStream {
 public:
  // sequence: null, or the one that the text is written in. UsageError: it is of another model.
  TextStream(std::shared_ptr<TextModel> model, std::shared_ptr<TextSequence> sequence, std::vector<int32_t> prompt,
             GenerateOptions options);
  ~TextStream();
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;

  enum class Got { piece, nothing_yet, end };
  // Waits at most so long. At the end of a text that failed, it throws the error. UsageError: the call comes out of a
  // callback, or from a child of fork().
  Got next(Piece& piece, std::chrono::milliseconds longest);
  void cancel();
  const Generation& result() const;  // UsageError before the end

 private:
  struct State;
  const std::shared_ptr<TextModel> model_;
  const std::shared_ptr<TextSequence> sequence_;
  const std::shared_ptr<State> state_;  // shared with the text's callbacks
};

}  // namespace tandem::bindings
