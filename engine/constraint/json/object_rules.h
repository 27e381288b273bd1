// Objects of a schema: members in order, optional ones, others behind them, and how many there are.
//
// Contract: adds edges and states between two states of the net.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/constraint/json/json_values.h"
#include "engine/constraint/json/schema_facts.h"

namespace tandem::constraint {

struct ObjectMembers {
  struct Member {
    std::string name;
    bool is_required;
    RuleId value;
  };
  std::vector<Member> members;
  RuleId other = -1;  // the values of other members; -1: there are none
  Facts::Range count{};
};

void add_object(JsonValues& values, StateId from, const ObjectMembers& object, StateId to);

}  // namespace tandem::constraint
