// A conversation with a model: its messages, and the sequence that has read them.
//
// Contract: each turn reads the tokens that are new in it alone. A turn that fails leaves the conversation as it was.
// Refers to the flags and the engine, which must outlive it. Threads: those of the engine.
#pragma once

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

  // Adds a user's message and the answer. on_text gets the answer piece by piece. An empty text answers the last
  // message anew; an assistant's message at the end is continued.
  Generation answer(const std::string& text, const std::function<void(std::string_view)>& on_text);
  // Removes the last turn: the user's message and its answer. False: there is none.
  bool undo();
  bool drop_answer();                        // false: the conversation does not end with one
  void set_system(const std::string& text);  // "": none

  std::string to_json() const;  // a list of messages, as `--messages` takes it
  void from_json(const std::string& json, const std::string& name);

  GenerateOptions& options() { return options_; }
  bool moved_system() const { return moved_system_; }  // the template refuses system messages
  struct Totals {
    int64_t turns = 0, read_tokens = 0, kept_tokens = 0, written_tokens = 0;
  };
  const Totals& totals() const { return totals_; }

 private:
  std::vector<int32_t> prompt();
  const chat::ModelChat chat_;
  Engine& engine_;
  const chat::ModelChat::Options chat_options_;
  GenerateOptions options_;
  std::vector<chat::Message> messages_;
  Sequence sequence_;
  bool moved_system_ = false;
  Totals totals_;
};

}  // namespace tandem::app
