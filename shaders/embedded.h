// The tables that shaders/CMakeLists.txt and cmake/EmbedShader.cmake write at build time, one per file.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tandem {

struct EmbeddedShader {
  std::string_view source, kernel;
  std::span<const uint32_t> words;
};
std::vector<std::span<const EmbeddedShader>> embedded_shaders();

}  // namespace tandem
