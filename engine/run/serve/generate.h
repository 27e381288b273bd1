// The parts of generate(): stop strings, and the continuation of one prompt.
//
// Contract: no threads of their own. Callbacks belong to one request and end with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/tokenizer/utf8.h"
#include "engine/run/serve/sampler.h"
#include "tandem/generate.h"

namespace tandem {

namespace constraint {
class Matcher;
}

// Holds back text that may be the beginning of a stop string. A state machine without side effects.
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);
  // Takes the next piece of the text and returns the text that may be printed now. stopped() then says whether a stop
  // string is complete. A stop string is not part of the returned text.
  std::string push(std::string_view text);
  // Returns the text that is held back, at the end of all text.
  std::string flush();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

// The continuation of one prompt: logits in, tokens and text out. The caller runs the passes: it asks for the next
// token until there is none, and then for the result.
class Continuation {
 public:
  // The tokenizer must outlive this object. The option on_ready is not used.
  Continuation(const Tokenizer& tokenizer, std::span<const int32_t> prompt, GenerateOptions options);
  Continuation(Continuation&&) noexcept;
  Continuation& operator=(Continuation&&) noexcept;
  ~Continuation();

  // Takes the logits of the text's last token. Returns the next token if its logits are needed; nothing: the text has
  // ended. has_room: the context has room for one more token.
  std::optional<int32_t> next(std::span<const float> logits, bool has_room);
  bool has_constraint() const { return matcher_ != nullptr; }
  // Finds which tokens may come next, and behind these drafts, so that next() need not. Any thread, while no other
  // calls this object.
  void prepare(std::span<const int32_t> drafts) const;
  // For a text whose prompt is still being read: whether the caller wants it no more, and the end for this reason.
  bool is_interrupted() const { return options_.interrupted && options_.interrupted(); }
  void report_prompt(int64_t done, int64_t total) const {  // `done` of the prompt's `total` tokens have run
    if (options_.on_prompt) options_.on_prompt(done, total);
  }
  void interrupt() { result_.reason = StopReason::interrupted; }
  std::span<const int32_t> ids() const { return result_.ids; }  // generated so far
  int64_t most_left() const;                                    // tokens that may follow them
  StopReason reason() const { return result_.reason; }          // after the end of the text
  Generation finish();   // hands over text that is held back; the result has no times
  Generation abandon();  // the same for a request that ends with an error: nothing more is handed over

 private:
  bool is_complete() const;
  void print(const std::string& text);
  std::optional<int32_t> choose(std::span<const float> logits);
  std::optional<int32_t> chosen_by_caller(std::span<const float> logits) const;
  std::optional<int32_t> end(StopReason reason);
  const Tokenizer* tokenizer_;
  GenerateOptions options_;
  Sampler sampler_;
  Utf8Stream characters_;
  StopMatcher stops_;
  std::unique_ptr<constraint::Matcher> matcher_;  // null: any token may come
  Generation result_;
};

}  // namespace tandem
