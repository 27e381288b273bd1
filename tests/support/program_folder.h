// Where tests keep compiled programs.
#pragma once

#include <cstdlib>
#include <string>

#include "engine/device/gpu/kept_file.h"

namespace tandem::test {

// With those of the user's programs: building one again and again is most of a short test. Nowhere where the tests are
// run once on a machine (TANDEM_TESTS_ONCE, which .ci/run sets): PoCL compiles every kernel a second time for the
// program that is kept. (Vulkan's pipelines cost nothing to keep.)
inline std::string program_folder() {
  const char* once = std::getenv("TANDEM_TESTS_ONCE");
  return once && *once ? "" : gpu::default_cache_folder();
}

}  // namespace tandem::test
