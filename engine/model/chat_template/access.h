// Parts of values: attributes, items, slices, and the values that a loop runs through.
//
// Contract: names of Python's methods that are not known here are a Fault that names them. A name that
// Python does not have is undefined, as in Jinja.
#pragma once

#include "engine/model/chat_template/value.h"

namespace tandem::chat {

Value attribute(Maker& maker, const Value& value, const std::string& name);  // value.name
Value item(Maker& maker, const Value& value, const Value& key);              // value[key]
// value[begin:end:step]; none: left out.
Value slice(Maker& maker, const Value& value, const Value& begin, const Value& end, const Value& step);
// An item by a path such as "function.name" or "0.role", as filters take it.
Value item_by_path(Maker& maker, Value value, const Value& path);

Iterator iterate(Maker& maker, const Value& value);  // Fault: it cannot be run through
bool can_iterate(const Value& value);
Values all_of(Maker& maker, const Value& value);
std::optional<int64_t> length_of(const Value& value);  // absent: it has none

Value call(Maker& maker, const Value& callee, Arguments arguments);

}  // namespace tandem::chat
