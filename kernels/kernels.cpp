// Finds the embedded source of an OpenCL kernel by its stem.
#include "kernels/kernels.h"

#include "kernels/embedded.h"

namespace tandem {

std::optional<std::string_view> kernel_source(std::string_view stem) {
  for (const EmbeddedKernel& kernel : embedded_kernels()) {
    if (kernel.stem == stem) return kernel.text;
  }
  return std::nullopt;
}

}  // namespace tandem
