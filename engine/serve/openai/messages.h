// The messages of a conversation as a chat template takes them, made of those of a request.
//
// Contract: pure. A broken or unknown part is a Refusal that names the message and the member.
#pragma once

#include <string>

#include "engine/serve/openai/refusal.h"

namespace tandem::serve {

// list: `messages` of a request. Roles are system, user, assistant and tool; contents are texts. Calls of functions
// have their arguments as objects, since templates write those out.
OrderedJson template_messages(const OrderedJson& list, const std::string& place = "messages");

// What chat::Conversation::read() takes. tools: null for none. arguments: `chat_template_kwargs`, or null.
OrderedJson conversation_of(const OrderedJson& messages, const OrderedJson& tools, const OrderedJson& arguments);

}  // namespace tandem::serve
