// The values that a conversation gives to a template. Only this folder needs them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/model/chat_template/chat_template.h"
#include "engine/model/chat_template/value.h"

namespace tandem::chat {

struct Conversation::Given {
  Account account;  // the values refer to it
  std::vector<std::pair<std::string, Value>> values;
};

// Any JSON as a value, with the keys of objects in their order; its texts are the conversation's, as are its keys.
// Fault: it is none, it nests too deeply, or it has too many values.
Value read_json_value(std::string_view json, Maker& maker);

}  // namespace tandem::chat
