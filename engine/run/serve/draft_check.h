// Checks that drafts change no bit: runs each token of a text again alone, and compares its logits with those that the
// text was written with.
//
// The check has a sequence of its own. It begins with the prompt's keys and values, and gets one token in each pass, as
// in plain decoding. So a difference in any earlier token shows too.
//
// Contract: Threads: the machine's thread, between two passes of the text. Ownership: borrows the engine, whose cache
// has room for one more text (TextOptions::spare_texts). The check takes as long as plain decoding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/engine.h"

namespace tandem {

class DraftCheck {
 public:
  explicit DraftCheck(Engine& engine);
  void begin(const Sequence& prompt);  // which has run
  // The text's next token, with the logits behind it that the text used. They are copied.
  void add(int32_t token, std::span<const float> logits);
  // Runs the tokens that were added. These passes end the views of the logits of earlier ones. Error: a bit differs. It
  // names the first one.
  void run();
  int64_t checked() const { return checked_; }  // tokens

 private:
  struct Token {
    int32_t id;
    std::vector<float> logits;
  };
  Engine& engine_;
  Sequence alone_;
  std::vector<int32_t> rest_;  // of the prompt
  std::vector<Token> added_;
  int64_t checked_ = 0;
};

}  // namespace tandem
