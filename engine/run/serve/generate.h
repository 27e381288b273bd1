// Generates text: prompt in, tokens out one by one, until a stop.
//
// Contract: text is handed over in whole UTF-8 characters, and never contains a part of a stop string. An interrupt
// ends generation after the current token, and the text so far stays. Callbacks belong to one request and
// end with it. An exception of a callback ends that request. Threads: as for Engine. The machine's thread calls the
// callbacks, so they must not wait for another thread that calls an engine of this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/tokenizer/utf8.h"
#include "engine/run/engine.h"
#include "engine/run/serve/sampler.h"

namespace tandem {

struct GenerateOptions {
  int64_t predict = 128;  // most tokens; < 0: until a stop or the context is full
  SamplerOptions sampler;
  std::vector<std::string> stop;   // stop strings; they are not part of the text
  bool ignore_end = false;         // continue after an end token
  bool print_special = false;      // special tokens are part of the text
  std::function<void()> on_ready;  // called when plans are made and nothing is printed yet; timing begins after it
  // Called with each piece of the text.
  std::function<void(std::string_view)> on_text;
  // Called after each chunk of a prompt that needs several: `done` of `total` tokens have run.
  std::function<void(int64_t done, int64_t total)> on_prompt;
  // Called between tokens, and between chunks of the prompt. True ends the text.
  std::function<bool()> interrupted;
};

// not_finite: a logit was infinite or no number. generate() and the Batcher turn this into an Error.
enum class StopReason { end_of_text, length, stop_string, context_full, interrupted, not_finite };
const char* to_string(StopReason reason);  // "eos", "length", "stop", "context_full", "interrupted", "not_finite"

struct Generation {
  std::vector<int32_t> ids;  // generated tokens, an end token included
  std::string text;
  StopReason reason = StopReason::length;
  int64_t prompt_tokens = 0;
  int64_t cached_prefix_tokens = 0;  // the part of prompt_tokens that did not run
  double prompt_seconds = 0;         // until the first logits
  double predicted_seconds = 0;      // after that
};

// One request of a Batcher (engine/run/serve/batcher.h), whose plans and kernels are prepared before the clock starts.
// sequence: has the first tokens of the prompt, if any, which do not run again. Fewer than the prompt has. In the end
// it has all tokens that have run: every token but the last generated one. Errors are those of Engine::extend(), and
// one for logits that are not finite. Text that on_text has received by then stays.
Generation generate(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                    const GenerateOptions& options);
// The same in a new sequence.
Generation generate(Engine& engine, std::span<const int32_t> prompt, const GenerateOptions& options);

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

  // Takes the logits of the text's last token. Returns the next token if its logits are needed; nothing: the text has
  // ended. has_room: the context has room for one more token.
  std::optional<int32_t> next(std::span<const float> logits, bool has_room);
  // For a text whose prompt is still being read: whether the caller wants it no more, and the end for this reason.
  bool is_interrupted() const { return options_.interrupted && options_.interrupted(); }
  void report_prompt(int64_t done, int64_t total) const {  // `done` of the prompt's `total` tokens have run
    if (options_.on_prompt) options_.on_prompt(done, total);
  }
  void interrupt() { result_.reason = StopReason::interrupted; }
  StopReason reason() const { return result_.reason; }  // after the end of the text
  Generation finish();                                  // hands over text that is held back; the result has no times
  Generation abandon();  // the same for a request that ends with an error: nothing more is handed over

 private:
  bool is_complete() const;
  void print(const std::string& text);
  std::optional<int32_t> end(StopReason reason);
  const Tokenizer* tokenizer_;
  GenerateOptions options_;
  Sampler sampler_;
  Utf8Stream characters_;
  StopMatcher matcher_;
  Generation result_;
};

}  // namespace tandem
