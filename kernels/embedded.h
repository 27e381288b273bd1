// The table that cmake/EmbedKernels.cmake writes at build time.
#pragma once

#include <span>
#include <string_view>

namespace tandem {

struct EmbeddedKernel {
  std::string_view stem, text;
};
std::span<const EmbeddedKernel> embedded_kernels();  // sorted by stem

}  // namespace tandem
