// `tandem chat`: a conversation with a model, line by line; or what a chat template makes of one (--render).
#pragma once

#include <optional>
#include <string>

#include "engine/app/command.h"
#include "engine/app/common_flags.h"

namespace tandem::app {

struct ChatFlags {
  CommonFlags common;
  std::string messages;  // a file of JSON
  std::string now;       // "2026-02-03T04:05:06"; "": the time of this moment
  bool render = false;
  std::string system;              // a message of the role system; "": none
  std::string reasoning = "auto";  // "on", "off"

  std::optional<bool> thinking() const { return reasoning == "auto" ? std::nullopt : std::optional(reasoning == "on"); }
};

// Writes the rendering alone to standard output. Refusal and Error: nothing is written there.
int render_chat_command(const ChatFlags& flags);

void add_chat(CLI::App& app, Action& action);

}  // namespace tandem::app
