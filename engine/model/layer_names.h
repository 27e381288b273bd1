// Names of tensors and operators say which layer they belong to: "blk.3.attn_q" (GGUF's convention).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem {

// "blk.3.attn_q": 3. Nothing for what belongs to no layer: "output_norm".
std::optional<int64_t> layer_of(std::string_view name);

// "attn_q"; the whole name of what belongs to no layer. A view into `name`.
std::string_view name_in_layer(std::string_view name);

}  // namespace tandem
