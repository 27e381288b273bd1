// Values as text: str(), repr() and JSON, as Python writes them.
//
// Contract: the characters of a text keep their author; brackets, quotes and numbers are the template's. Fault for
// values whose text has an address in it.
#pragma once

#include <string>

#include "engine/model/chat_template/value.h"

namespace tandem::chat {

Text printed(Maker& maker, const Value& value);         // str()
Text representation(Maker& maker, const Value& value);  // repr()
std::string real_text(double number);                   // repr() of a float

struct JsonForm {
  std::optional<std::string> indent;  // of each level; absent: on one line
  std::string comma = ", ", colon = ": ";
  bool ascii_only = false, sorted = false;
};
Text json_text(Maker& maker, const Value& value, const JsonForm& form);

}  // namespace tandem::chat
