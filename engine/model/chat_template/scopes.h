// The scopes of names in a template, as Jinja's compiler finds them before anything runs.
//
// A name that a scope sets, and does not read before, is undefined there until it is set: even if the caller of the
// template gave it a value. Loops, macros and blocks whose text is caught have scopes of their own; `if` has none.
// Contract: fills `hidden`, `takes_caller` and the like of the tree. Pure.
#pragma once

#include "engine/model/chat_template/syntax.h"

namespace tandem::chat {

void find_scopes(Tree& tree);

}  // namespace tandem::chat
