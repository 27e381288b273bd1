// The source tree of this build. Tests read kernels, shaders and scripts from it.
#pragma once

#include <filesystem>

namespace tandem::testing {

std::filesystem::path source_tree();

}  // namespace tandem::testing
