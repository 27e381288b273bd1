#include "kernels/kernels.h"

#include <string>

#include "kernels/embedded.h"
#include "sync/error.h"

namespace tandem {

std::string_view kernel_source(std::string_view stem) {
  for (const EmbeddedKernel& kernel : embedded_kernels()) {
    if (kernel.stem == stem) return kernel.text;
  }
  throw Error("no such kernel source is embedded", std::string(stem) + ".cl",
              "Kernel sources live in kernels/; cmake finds new ones when it runs again");
}

std::vector<std::string_view> kernel_stems() {
  std::vector<std::string_view> stems;
  for (const EmbeddedKernel& kernel : embedded_kernels()) stems.push_back(kernel.stem);
  return stems;
}

}  // namespace tandem
