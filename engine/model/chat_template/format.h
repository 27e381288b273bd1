// Values in forms: str.format() and the operator % on a text.
//
// Contract: Fault for what Python refuses, and for the parts of its little languages that are not known here.
// Characters keep their authors.
#pragma once

#include "engine/model/chat_template/value.h"

namespace tandem::chat {

Text formatted(Maker& maker, const Text& form, const Arguments& arguments);   // form.format(...)
Text percent_formatted(Maker& maker, const Text& form, const Value& values);  // form % values

}  // namespace tandem::chat
