// Rotations by positions of three dimensions (time, height, width), of which a text has one: its tokens have the same
// number in all three. So the text part of such a model rotates as if there were one position.
#pragma once

#include "engine/model/config.h"
#include "engine/model/config_keys.h"

namespace tandem {

constexpr const char* kSections = "rope.dimension_sections";  // pairs of values for each dimension

// Whether a file has sections. Error unless the three dimensions have all pairs of a head's rotation, or none. A fourth
// one would not rotate.
inline bool has_text_sections(const GgufFile& file, ModelConfig& config) {
  const ConfigKeys keys(file, config.architecture);
  const std::vector<double> sections = keys.numbers(kSections);
  double pairs = 0, all = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    all += sections[i];
    if (i < 3) pairs += sections[i];
  }
  if (all != 0 && 2 * pairs != static_cast<double>(config.rope.dim))
    keys.fail(kSections, "found " + std::to_string(static_cast<int64_t>(pairs)) +
                             " pairs in three sections, expected " + std::to_string(config.rope.dim / 2));
  return all != 0;
}
inline void require_text_sections(const GgufFile& file, ModelConfig& config) { has_text_sections(file, config); }

}  // namespace tandem
