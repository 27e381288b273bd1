// Splits names of tensors and operators into layer and rest: "blk.3.attn_q" (GGUF's convention).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem {

// "blk.3.attn_q": 3. Absent for names outside the layers: "output_norm".
std::optional<int64_t> layer_of(std::string_view name);

// "blk.3.attn_q": "attn_q". Names outside the layers are returned whole. A view into `name`.
std::string_view name_in_layer(std::string_view name);

}  // namespace tandem
