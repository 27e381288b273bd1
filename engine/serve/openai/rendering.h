// The conversation of a request, rendered with a model's chat template: the same for the server, Python and C.
//
// Contract: pure. TemplateRefusal or Error of the template.
#pragma once

#include "engine/model/chat_template/model_chat.h"
#include "engine/serve/openai/refusal.h"

namespace tandem::serve {

// conversation: an object that chat::Conversation::read() takes, with messages of template_messages(). begins_answer:
// the beginning of an answer follows. Then an assistant's message at the end is continued: it stands behind that
// beginning, and nothing ends it. A template that refuses a system message gets its words before the first user's.
chat::Text render_conversation(const chat::ModelChat& chat, const OrderedJson& conversation, bool begins_answer);

}  // namespace tandem::serve
