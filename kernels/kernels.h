// The OpenCL sources of this folder, embedded into the binary at build time.
//
// Contract: kernel_source("gate") is the text of kernels/gate.cl as it was at build time, without kernels/common.cl in
// front and with its own `#include "stem.cl"` lines still in it (the OpenCL device puts both in). Nothing when there is
// no such file: this floor knows no errors, its user says what was wanted.
#pragma once

#include <optional>
#include <string_view>

namespace tandem {

std::optional<std::string_view> kernel_source(std::string_view stem);

}  // namespace tandem
