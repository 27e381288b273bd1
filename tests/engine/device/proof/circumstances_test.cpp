#include "engine/device/proof/circumstances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "engine/device/proof/room.h"
#include "tests/engine/device/proof/broken_drivers.h"
#include "tests/engine/device/proof/soft_limit.h"

namespace tandem::proof {
namespace {

using ::tandem::testing::Variables;
using ::testing::HasSubstr;

ChildEnd aborted(const std::string& last_words) {
  ChildEnd end;
  end.how = "was ended by SIGABRT";
  end.last_words = last_words;
  return end;
}

TEST(Circumstances, of_a_child_that_ended_well_or_died_of_its_driver_want_nothing) {
  if (want_of_memory()) GTEST_SKIP() << "this machine has little memory: " << want_of_memory().what;
  const testing::ScratchFolder folder;
  ChildEnd well;
  well.well = true;
  EXPECT_FALSE(want_behind(well, {"/proc/no/such/folder"}));
  EXPECT_EQ(want_behind(aborted("Cannot select: v16f32 = fma"), {folder.path().string()}).what, "");
}

TEST(Circumstances, are_read_from_what_a_driver_says_at_its_end) {
  if (want_of_memory()) GTEST_SKIP() << "this machine has little memory: " << want_of_memory().what;
  for (const char* words :
       {"write: No space left on device", "mkdir failed: Read-only file system", "std::bad_alloc",
        "LLVM ERROR: out of memory", "Not enough memory to run on this device.",
        "pthread_create: Resource temporarily unavailable", "kernel.so: failed to map segment from shared object"}) {
    const Want want = want_behind(aborted(words), {});
    EXPECT_THAT(want.what, HasSubstr(words));
    EXPECT_NE(want.remedy, "");
  }
}

TEST(Circumstances, of_a_child_that_others_have_ended_or_that_was_starved_are_no_fault_of_a_driver) {
  ChildEnd killed = aborted("");
  killed.by_others = true;
  EXPECT_THAT(want_behind(killed, {}).what, HasSubstr("somebody else ended it"));
  ChildEnd starved = aborted("");
  starved.starved = true;
  EXPECT_THAT(want_behind(starved, {}).what, HasSubstr("too busy"));
}

TEST(Circumstances, name_a_folder_that_cannot_be_written) {
  const Want want = want_behind(aborted("dlopen: file too short"), {"/proc/no/such/folder"});
  EXPECT_THAT(want.what, HasSubstr("/proc/no/such/folder"));
  EXPECT_THAT(want.remedy, HasSubstr("XDG_CACHE_HOME"));
  const testing::ScratchFolder folder;
  EXPECT_EQ(want_of_room(folder.file("made/on/the/way")).what, "");
}

TEST(Circumstances, name_the_limits_of_this_process) {
  {
    const SoftLimit limit(RLIMIT_DATA, rlim_t{1} << 39);
    ASSERT_TRUE(limit.is_set());
    EXPECT_THAT(want_of_memory().what, HasSubstr("ulimit -d"));
    EXPECT_THAT(circumstances({}), HasSubstr("ulimit -d 549755813888"));
  }
  if (want_of_memory()) GTEST_SKIP() << "this machine has little memory: " << want_of_memory().what;
  const SoftLimit limit(RLIMIT_FSIZE, rlim_t{1} << 40);
  ASSERT_TRUE(limit.is_set());
  EXPECT_THAT(want_behind(aborted("Cannot select"), {}).what, HasSubstr("ulimit -f"));
}

TEST(Circumstances, say_why_nothing_is_kept) {
  Variables variables;
  const testing::ScratchFolder folder;
  variables.set("XDG_CACHE_HOME", folder.file("made/on/the/way"));
  EXPECT_EQ(why_nothing_is_kept(), "");
  variables.set("XDG_CACHE_HOME", "/proc/no/such/folder");
  EXPECT_THAT(why_nothing_is_kept(), HasSubstr("/proc/no/such/folder"));
  variables.set("XDG_CACHE_HOME", "");
  variables.set("HOME", "");
  EXPECT_THAT(why_nothing_is_kept(), HasSubstr("neither XDG_CACHE_HOME nor HOME"));
}

TEST(Circumstances, know_where_pocl_keeps_what_it_has_compiled) {
  Variables variables;
  variables.set("POCL_CACHE_DIR", "");
  variables.set("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(pocl_folder(), "/cache/pocl/kcache");
  variables.set("XDG_CACHE_HOME", "");
  variables.set("HOME", "/nobody/s_home");
  EXPECT_EQ(pocl_folder(), "/nobody/s_home/.cache/pocl/kcache");
  variables.set("POCL_CACHE_DIR", "/elsewhere");
  EXPECT_EQ(pocl_folder(), "/elsewhere");
}

}  // namespace
}  // namespace tandem::proof
