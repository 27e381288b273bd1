// Reads grammars in llama.cpp's notation (GBNF).
//
// A rule is `name ::= alternatives`. Known: "text", [classes] with ranges and ^, the dot, names of rules, groups, |,
// * + ? {m} {m,} {m,n}, comments (#), and the escapes \n \r \t \" \\ \[ \] \xHH \uHHHH \UHHHHHHHH. The rule `root` is
// the text. A rule ends with its line, except in brackets and behind |; a line that begins with | goes on too.
//
// Contract: pure. Error: names the line and the column. A rule that calls itself before it has read anything is found
// later (trimmed()).
#pragma once

#include <string>
#include <string_view>

#include "engine/constraint/automaton/rule_net.h"

namespace tandem::constraint {

RuleNet parse_gbnf(std::string_view text, const std::string& on);

}  // namespace tandem::constraint
