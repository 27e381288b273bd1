#include "engine/device/proof/kept_lists.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/engine/device/proof/broken_drivers.h"

namespace tandem::proof {
namespace {

using ::tandem::testing::Variables;

// Cuts a list as Khronos's loader does when it reads one.
void cut_in_the_environment(const char* name) {
  char* list = std::getenv(name);
  *std::strchr(list, ':') = '\0';
}

TEST(KeptLists, are_whole_again_when_a_loader_has_cut_them_in_place) {
  Variables variables;
  for (const char* name : {"OCL_ICD_FILENAMES", "OPENCL_LAYERS"}) {
    variables.set(name, "libA.so:libB.so");
    {
      const KeptLists kept;
      cut_in_the_environment(name);
      ASSERT_STREQ(std::getenv(name), "libA.so");
    }
    EXPECT_STREQ(std::getenv(name), "libA.so:libB.so");
  }
}

TEST(KeptLists, that_are_not_set_stay_so) {
  Variables variables;
  variables.set("OCL_ICD_FILENAMES", "");
  unsetenv("OCL_ICD_FILENAMES");
  { const KeptLists kept; }
  EXPECT_EQ(std::getenv("OCL_ICD_FILENAMES"), nullptr);
}

}  // namespace
}  // namespace tandem::proof
