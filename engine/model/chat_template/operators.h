// The operators of expressions, with Python's arithmetic.
//
// Contract: Fault where Python raises an error.
#pragma once

#include <string_view>

#include "engine/model/chat_template/value.h"

namespace tandem::chat {

enum class Operator { add, subtract, multiply, divide, floor_divide, modulo, power };
Value computed(Maker& maker, Operator what, const Value& a, const Value& b);
Value negated(const Value& value);    // -value
Value unchanged(const Value& value);  // +value

// Texts of HTML: & < > ' " become entities.
Text escaped_html(Maker& maker, const Text& text);
// The number that a text spells, as int() and float() read it; absent if it spells none.
std::optional<Integer> read_whole(std::string_view text, int base);
std::optional<double> read_real(std::string_view text);

}  // namespace tandem::chat
