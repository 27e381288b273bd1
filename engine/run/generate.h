// Generates text: prompt in, tokens out one by one, until a stop.
//
// Contract: text is handed over in whole UTF-8 characters, and never a part of a stop string. An interrupt ends
// generation after the current token, with the text so far. One thread.
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
#include "engine/run/sampler.h"

namespace tandem {

struct GenerateOptions {
  int64_t predict = 128;  // most tokens; < 0: until a stop or the context is full
  // Tokens at the start of the prompt that are in the context already and do not run again. Fewer than the prompt has.
  int64_t cached_prefix_tokens = 0;
  SamplerOptions sampler;
  std::vector<std::string> stop;   // stop strings, not printed
  bool ignore_end = false;         // go on after EOS
  bool print_special = false;      // print special tokens' text
  std::function<void()> on_ready;  // plans are made, nothing is printed yet; what follows is timed
  std::function<void(std::string_view)> on_text;
  std::function<bool()> interrupted;
};

// not_finite: a logit was no finite number; generate() and the Batcher make an Error of it.
enum class StopReason { end_of_text, length, stop_string, context_full, interrupted, not_finite };
const char* to_string(StopReason reason);  // "eos", "length", "stop", "context_full", "interrupted", "not_finite"

struct Generation {
  std::vector<int32_t> ids;  // generated, an end token included
  std::string text;
  StopReason reason = StopReason::length;
  int64_t prompt_tokens = 0;
  int64_t cached_prefix_tokens = 0;  // part of them that did not run
  double prompt_seconds = 0;         // until the first logits
  double predicted_seconds = 0;      // after that
};

// Error as of Engine::extend(), and where logits are not finite; what was handed over until then stays.
Generation generate(Engine& engine, std::span<const int32_t> prompt, const GenerateOptions& options);

// Holds back text that may turn out to be the beginning of a stop string. Pure but for its own state.
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);
  // Returns what may be printed now; stopped() afterwards tells whether a stop string was completed (it is not part of
  // the text).
  std::string push(std::string_view text);
  std::string flush();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

// What comes behind one prompt: logits in, tokens and text out. Whoever runs the passes asks for the next token, and
// for the result when there is none.
class Continuation {
 public:
  // `tokenizer` must outlive it. It does not use the options on_ready and cached_prefix_tokens.
  Continuation(const Tokenizer& tokenizer, std::span<const int32_t> prompt, GenerateOptions options);

  // Of the logits behind the text so far: the next token whose logits are wanted; nothing: the text has come to its
  // end. has_room: the context takes one more token.
  std::optional<int32_t> next(std::span<const float> logits, bool has_room);
  // Of a text whose prompt is being read: whether it is not wanted any more, and then that it ends so.
  bool is_interrupted() const { return options_.interrupted && options_.interrupted(); }
  void interrupt() { result_.reason = StopReason::interrupted; }
  StopReason reason() const { return result_.reason; }  // of a text that has come to its end
  Generation finish();                                  // hands over what is held back; without times

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
