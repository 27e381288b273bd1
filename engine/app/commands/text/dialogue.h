// A conversation with a model: its messages, and the sequence that has read them.
//
// Contract: each turn reads the tokens that are new in it alone. A turn that fails leaves the conversation as it was.
// Refers to the flags and the engine, which must outlive it. Threads: those of the engine.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/app/common_flags.h"
#include "engine/model/chat_template/model_chat.h"
#include "engine/run/engine.h"
#include "engine/run/serve/generate.h"

namespace tandem::app {

class Dialogue {
 public:
  // thinking: whether the template asks for thoughts; absent: it decides. Error: the model has no template.
  Dialogue(const CommonFlags& flags, Engine& engine, std::optional<bool> thinking);

  // Gets the answer piece by piece. in_thought: the prompt ends with <think>, so the answer begins with thoughts.
  using Listener = std::function<void(std::string_view piece, bool in_thought)>;
  // Adds a user's message and the answer. Interrupted: the user wants no answer, and there was none yet.
  Generation answer(const std::string& text, const Listener& listener);
  Generation answer_again(const Listener& listener);  // another answer to the last message. Error: there was none
  Generation go_on(const Listener& listener);         // continues the last answer. Error: there is none
  // Removes the last turn: the user's message and its answer. False: there is none.
  bool undo();
  void set_system(const std::string& text);  // "": none

  std::string to_json() const;  // a list of messages, as `--messages` takes it
  void from_json(const std::string& json, const std::string& name);

  GenerateOptions& options() { return options_; }
  bool moved_system() const { return moved_system_; }  // the template refuses system messages
  struct Totals {
    int64_t turns = 0, read_tokens = 0, kept_tokens = 0, written_tokens = 0;
    double read_seconds = 0, written_seconds = 0;
    int64_t timed_tokens = 0;  // those of written_tokens that written_seconds times
    int64_t drafts = 0, accepted_drafts = 0, checked_tokens = 0;
  };
  const Totals& totals() const { return totals_; }
  int64_t position() const { return sequence_.position(); }  // tokens of the context that are in use

 private:
  // A text that the sequence has read or written. A tokenizer may divide it into others than the sampled ids.
  struct Known {
    std::vector<int32_t> encoded, ids;
  };
  chat::Text rendered();
  bool drop_answer();
  Generation attempt(const std::function<Generation()>& turn);
  Generation generate_on(const Listener& listener);
  std::vector<int32_t> with_sampled_ids(std::vector<int32_t> encoded) const;
  void remember(chat::Text text, std::vector<int32_t> ids, const Generation& result);

  const chat::ModelChat chat_;
  Engine& engine_;
  const chat::ModelChat::Options chat_options_;
  GenerateOptions options_;
  std::vector<chat::Message> messages_;
  Sequence sequence_;
  std::deque<Known> known_;  // of the newest turns
  bool moved_system_ = false;
  Totals totals_;
};

}  // namespace tandem::app
