// Truth, equality and order of values, by Python's rules.
//
// Contract: Fault where Python raises a TypeError, or the comparison is more work than a template may do. Pure, except
// that `in` reads on in a generator.
#pragma once

#include "engine/model/chat_template/value.h"

namespace tandem::chat {

bool is_true(const Value& value);
bool equal(Maker& maker, const Value& a, const Value& b);
bool equal_values(Maker& maker, const Values& a, const Values& b);
bool same(const Value& a, const Value& b);  // `is sameas`
bool less(Maker& maker, const Value& a, const Value& b);
bool contains(Maker& maker, const Value& whole, const Value& part);

}  // namespace tandem::chat
