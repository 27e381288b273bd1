// The parts of an answer in the form of /v1/chat/completions: a whole message, or the deltas of a stream.
#pragma once

#include <cstdint>
#include <string>

#include "engine/serve/openai/refusal.h"
#include "engine/serve/openai/reply_part.h"

namespace tandem::serve {

// Nine letters and digits that follow from the id of the answer, and the numbers of choice and call from 0.
std::string call_id(const std::string& answer, int64_t choice, int64_t call);
// {"role":"assistant","content":...}, with "reasoning_content" and "tool_calls" if there are any. Content is null if
// there are calls and no text.
OrderedJson message_json(const ReplyParts& parts, const std::string& answer, int64_t choice);
// calls: how many there were before this part.
OrderedJson delta_json(const ReplyPart& part, const std::string& answer, int64_t choice, int64_t calls);

}  // namespace tandem::serve
