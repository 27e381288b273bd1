// Finds compiled shaders by source and kernel. The build has embedded them, so no file is read when the program runs.
#include "shaders/shaders.h"

#include "shaders/embedded.h"

namespace tandem {

std::optional<std::span<const uint32_t>> shader_code(std::string_view source, std::string_view kernel) {
  for (const auto& file : embedded_shaders()) {
    for (const EmbeddedShader& shader : file) {
      if (shader.source == source && shader.kernel == kernel) return shader.words;
    }
  }
  return std::nullopt;
}

std::vector<ShaderName> shader_names() {
  std::vector<ShaderName> names;
  for (const auto& file : embedded_shaders()) {
    for (const EmbeddedShader& shader : file) names.push_back({shader.source, shader.kernel});
  }
  return names;
}

// FNV-1a over words. Files of compiled pipelines have it in
// their key, so those of other shaders are never used.
uint64_t shaders_hash() {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const auto& file : embedded_shaders()) {
    for (const EmbeddedShader& shader : file) {
      for (const uint32_t word : shader.words) hash = (hash ^ word) * 0x100000001b3u;
    }
  }
  return hash;
}

}  // namespace tandem
