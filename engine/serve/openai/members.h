// Reads members of JSON objects of a request. A refusal names the place: "messages[2].content".
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "engine/serve/openai/refusal.h"

namespace tandem::serve {

[[noreturn]] void refuse(const std::string& place, const std::string& expected);
// Null: it is absent, or null.
const OrderedJson* member(const OrderedJson& object, std::string_view name);
// place: of the object; empty: the request itself.
std::string text_member(const OrderedJson& object, const char* name, const std::string& place);
// Refuses members of other names.
void require_members(const OrderedJson& object, const std::string& place,
                     std::initializer_list<std::string_view> known);

}  // namespace tandem::serve
