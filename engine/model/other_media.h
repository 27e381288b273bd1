// The parts of a model file that read pictures or sound. Tandem runs the text part alone, and says so.
//
// Contract: pure functions of names. Files put such tensors beside those of the text, under the prefixes of projector
// files, and their keys behind the architecture's name.
#pragma once

#include <algorithm>
#include <string_view>

#include "engine/model/gguf.h"

namespace tandem {

inline bool starts_with_one_of(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

inline bool is_tensor_of_other_media(std::string_view name) {
  return starts_with_one_of(name, {"v.", "a.", "mm.", "resampler."});
}

// `key` is behind the architecture's name: "vision.block_count".
inline bool is_key_of_other_media(std::string_view key) {
  return starts_with_one_of(key, {"vision.", "audio.", "mm.", "projector."});
}

inline int64_t tensors_of_other_media(const GgufFile& file) {
  return std::ranges::count_if(file.tensors(),
                               [](const GgufTensor& tensor) { return is_tensor_of_other_media(tensor.name); });
}

}  // namespace tandem
