// The folder in which tests keep compiled programs.
#pragma once

#include <cstdlib>
#include <string>

#include "engine/device/gpu/kept_file.h"

namespace tandem::test {

// Tests use the folder of the user's programs, because compiling is most of a short test. If the tests run once on a
// machine (TANDEM_TESTS_ONCE, which .ci/run sets), nothing is kept: PoCL compiles every kept kernel a second time.
// (Keeping Vulkan's pipelines costs nothing.)
inline std::string program_folder() {
  const char* once = std::getenv("TANDEM_TESTS_ONCE");
  return once && *once ? "" : gpu::default_cache_folder();
}

}  // namespace tandem::test
