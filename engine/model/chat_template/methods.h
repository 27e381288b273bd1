// Methods of Python's values: a function that is bound to its value.
//
// Contract: absent if Python's type has no attribute of that name. Undefined for those that the sandbox of Jinja
// forbids. Fault for those that are not known here.
#pragma once

#include <functional>
#include <optional>

#include "engine/model/chat_template/arguments.h"
#include "engine/model/chat_template/characters.h"
#include "engine/model/chat_template/value.h"

namespace tandem::chat {

std::optional<Value> method(Maker& maker, const Value& value, const std::string& name);

// A method of str. null: not known here.
using StringMethod = Value (*)(Maker& maker, const Value& self, const Arguments& arguments);
StringMethod string_method(std::string_view name);

// Texts that several methods and filters make.
Text stripped(const Text& text, const std::string* characters, bool left, bool right);  // null: white space
Text replaced(Maker& maker, const Text& text, const Text& old, const Text& fresh, int64_t most);
// The first or the last place of a part in a text, from a place on; npos: none. Takes time in proportion to the text.
size_t find_text(Maker& maker, std::string_view text, std::string_view part, size_t from = 0);
size_t find_last_text(Maker& maker, std::string_view text, std::string_view part);
Text joined(Maker& maker, const Values& texts, const Text& separator);
// Changes each character, whose place in the text is [begin, end).
using CharacterChange = std::function<std::string(size_t begin, size_t end)>;
Text each_changed(Maker& maker, const Text& text, const CharacterChange& change);
Text cased(Maker& maker, const Text& text, Case wanted);
Text capitalized(Maker& maker, const Text& text);
Text repeated(Maker& maker, const Text& text, int64_t times);
std::vector<Text> lines_of(const Text& text, bool with_ends);
Text centered(Maker& maker, const String& string, int64_t width, char32_t fill);

}  // namespace tandem::chat
