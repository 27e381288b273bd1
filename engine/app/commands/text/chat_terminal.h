// The conversation of `tandem chat`, line by line: a person's words and commands in, the model's answers out.
//
// Contract: answers alone go to standard output; everything else goes to standard error. Works through a pipe.
#pragma once

#include "engine/app/commands/text/chat.h"

namespace tandem::app {

int chat_command(const ChatFlags& flags);

}  // namespace tandem::app
