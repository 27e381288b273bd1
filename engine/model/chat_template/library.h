// Filters, tests and functions of templates, by name.
//
// Contract: Fault for names that are not known here; it names them.
#pragma once

#include <ctime>
#include <string_view>

#include "engine/model/chat_template/value.h"

namespace tandem::chat {

// The first argument is the value before the `|` or `is`.
using Filter = Value (*)(Maker& maker, const Value& value, const Arguments& arguments);
using Test = bool (*)(Maker& maker, const Value& value, const Arguments& arguments);

// These are null if the name is unknown.
Filter text_filter(std::string_view name);
Filter list_filter(std::string_view name);
Test find_test(std::string_view name);
Filter find_filter(std::string_view name);

Filter required_filter(std::string_view name);
Test required_test(std::string_view name);

// range, dict, cycler, joiner, raise_exception, strftime_now; `now` is what strftime_now shows. Absent: there is
// no such function.
std::optional<Value> global_function(std::string_view name, const std::tm& now);

}  // namespace tandem::chat
