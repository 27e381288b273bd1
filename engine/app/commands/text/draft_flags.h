// Flags of drafts that depend on each other.
#pragma once

#include "engine/app/common_flags.h"

namespace tandem::app {

// The parser's error: --spec-check or --draft-model beside a --spec that makes no drafts for them.
void require_used_drafts(const CommonFlags& flags);

}  // namespace tandem::app
