// The source tree that the tests were built from: kernels, shaders and scripts are read from it.
#pragma once

#include <filesystem>

namespace tandem::testing {

std::filesystem::path source_tree();

}  // namespace tandem::testing
