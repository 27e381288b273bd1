// The shaders of this folder as SPIR-V, compiled, checked and embedded at build time.
//
// Contract: shader_code("elementwise_simd", "add_simd") is the module of one kernel of shaders/elementwise_simd.comp.
//   It has debug names, which carry the names of its specialisation constants. The result is empty when there is no
//   such file or kernel. This floor has no error type, so the caller reports the failure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tandem {

struct ShaderName {
  std::string_view source, kernel;
};

std::optional<std::span<const uint32_t>> shader_code(std::string_view source, std::string_view kernel);
std::vector<ShaderName> shader_names();  // sorted by source; for tests, which check every shader
uint64_t shaders_hash();                 // of all words of all shaders: a key for caches of drivers' compiled forms

}  // namespace tandem
