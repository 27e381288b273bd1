// Patterns of JSON schemas: a subset of ECMAScript's regular expressions, as automata over characters.
//
// Known: characters, escapes (\d \w \s \D \W \S \t \n \r \f \v \0 \xHH \uHHHH \u{...} \cX and escaped punctuation), the
// dot, classes, groups ((...), (?:...), (?<name>...)), |, * + ? {m} {m,} {m,n} with or without a lazy ?, and ^ and $ at
// the ends of alternatives. Look-around, back references, \b, \p and flags are refused.
//
// Contract: pure. A pattern matches anywhere in a text unless it is anchored. Error: the pattern is broken or has a
// part that is not known; it names the part and its place.
#pragma once

#include <string>
#include <string_view>

#include "engine/constraint/text/char_automaton.h"

namespace tandem::constraint {

CharAutomaton parse_pattern(std::string_view pattern, const std::string& on);

}  // namespace tandem::constraint
