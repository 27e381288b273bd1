// JSON values as edges of a net: any value, and given ones.
//
// Contract: as JsonStrings. White space: at most one blank behind { [ : and the comma, and in front of } and ].
#pragma once

#include <functional>

#include "engine/constraint/json/json_strings.h"
#include "engine/constraint/json/number_text.h"
#include "engine/constraint/json/schema_text.h"

namespace tandem::constraint {

class JsonValues {
 public:
  explicit JsonValues(RuleNet& net) : net_(net), strings_(net) {}
  JsonValues(const JsonValues&) = delete;
  JsonValues& operator=(const JsonValues&) = delete;

  JsonStrings& strings() { return strings_; }
  RuleNet& net() { return net_; }
  void add_any(StateId from, StateId to);
  void add_any_object(StateId from, StateId to);
  void add_any_array(StateId from, StateId to);
  void add_any_number(StateId from, bool is_integer, StateId to);
  void add_value(StateId from, const Json& value, StateId to);  // this value
  void add_blank(StateId from, StateId to);                     // one, or none
  void add_after_blank(StateId from, char byte, StateId to);    // a blank or none, and the byte
  void add_before_blank(StateId from, char byte, StateId to);

 private:
  RuleId rule(RuleId& known, const char* name, const std::function<void(StateId, StateId)>& body);
  RuleNet& net_;
  JsonStrings strings_;
  RuleId value_ = -1, object_ = -1, array_ = -1, number_ = -1, integer_ = -1;
};

}  // namespace tandem::constraint
