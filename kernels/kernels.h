// The OpenCL sources of this folder, embedded into the binary at build time.
//
// Contract: kernel_source("gate") is the text of kernels/gate.cl at build time. It lacks kernels/common.cl in front,
//   and its own `#include "stem.cl"` lines are still in it; the OpenCL device puts both in. The result is empty when
//   there is no such file. This floor has no error type, so the caller reports the failure.
#pragma once

#include <optional>
#include <string_view>

namespace tandem {

std::optional<std::string_view> kernel_source(std::string_view stem);

}  // namespace tandem
