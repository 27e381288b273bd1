// A JSON schema as a net of rules.
//
// Members of objects come in the order of the schema, and others behind them. White space and spelling are those of
// JsonValues (docs/constrained.md).
//
// Contract: pure. Error: the schema is broken, has a keyword that is not known, or is too large; it names the place.
#pragma once

#include <string>
#include <string_view>

#include "engine/constraint/automaton/rule_net.h"

namespace tandem::constraint {

RuleNet schema_rules(std::string_view schema, const std::string& on);
RuleNet any_object_rules();

}  // namespace tandem::constraint
