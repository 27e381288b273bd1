// Truth, equality and order of values, by Python's rules.
//
// Contract: Fault where Python raises a TypeError. Pure, except that `in` reads on in a generator.
#pragma once

#include "engine/model/chat_template/value.h"

namespace tandem::chat {

bool is_true(const Value& value);
bool equal(const Value& a, const Value& b);
bool same(const Value& a, const Value& b);  // `is sameas`
bool less(const Value& a, const Value& b);
bool contains(Maker& maker, const Value& whole, const Value& part);

}  // namespace tandem::chat
