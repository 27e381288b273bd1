// Checks logits of a pass. extend() and extend_all() (tandem/engine.h) are defined beside it.
#pragma once

#include <cstdint>
#include <span>

#include "engine/run/engine.h"

namespace tandem {

// Throws the Error of Engine::not_finite() if logits of the last pass are not finite. logits: [n, vocabulary].
// first: the position of their first token.
void require_finite(Engine& engine, std::span<const float> logits, int64_t first);

}  // namespace tandem
