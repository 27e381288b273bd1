// A text for a caller in C.
#pragma once

#include <functional>

#include "bindings/c/edge.h"

namespace tandem::bindings {

// Writes a text by these options: `write` runs it. The caller's function gets its pieces, and `generation` the result,
// unless it is null. UsageError: an option is none.
void write_text(const TextModel& model, const tandem_generate_options* options, tandem_on_piece on_piece, void* user,
                tandem_generation* generation, const std::function<Generation(GenerateOptions)>& write);

}  // namespace tandem::bindings
