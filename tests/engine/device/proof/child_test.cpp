#include "engine/device/proof/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/device/proof/child_process.h"
#include "sync/affinity.h"
#include "sync/error.h"

namespace tandem::proof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Heard {
  std::vector<std::string> lines;
  ChildEnd end;
};

Heard shell(const std::string& script, const std::vector<std::pair<std::string, std::string>>& environment = {},
            std::chrono::seconds silence = std::chrono::seconds(30)) {
  Heard heard;
  heard.end = run_child({"/bin/sh", {"-c", script}, environment, silence},
                        [&](const std::string& line) { heard.lines.push_back(line); });
  return heard;
}

TEST(Child, hands_over_every_line_it_writes_and_ends_well) {
  const Heard heard = shell("echo one; printf 'two\\nthree'");
  EXPECT_THAT(heard.lines, ElementsAre("one", "two", "three"));
  EXPECT_TRUE(heard.end.well) << heard.end.how;
}

TEST(Child, tells_the_signal_that_ended_it_and_its_last_words) {
  const Heard heard = shell("echo said; echo first >&2; echo 'Unexpected llvm intrinsic' >&2; echo >&2; kill -ABRT $$");
  EXPECT_THAT(heard.lines, ElementsAre("said"));
  EXPECT_FALSE(heard.end.well);
  EXPECT_FALSE(heard.end.by_others);
  EXPECT_THAT(heard.end.in_one(), HasSubstr("SIGABRT"));
  EXPECT_THAT(heard.end.in_one(), HasSubstr("Unexpected llvm intrinsic"));
}

TEST(Child, tells_the_status_it_ended_with) {
  const Heard heard = shell("exit 3");
  EXPECT_FALSE(heard.end.well);
  EXPECT_THAT(heard.end.how, HasSubstr("status 3"));
}

TEST(Child, that_gives_no_sign_is_ended_with_everything_it_started) {
  const Heard heard = shell("echo begun; sleep 1000", {}, std::chrono::seconds(1));
  EXPECT_THAT(heard.lines, ElementsAre("begun"));
  EXPECT_THAT(heard.end.how, HasSubstr("gave no sign for 1 s"));
  EXPECT_FALSE(heard.end.well || heard.end.by_others);
}

TEST(Child, that_was_stopped_is_no_driver_that_hangs) {
  const Heard heard = shell("kill -STOP $$", {}, std::chrono::seconds(1));
  EXPECT_THAT(heard.end.how, HasSubstr("gave no sign for 1 s"));
  EXPECT_TRUE(heard.end.starved);
}

TEST(Child, is_not_silent_while_this_process_could_not_hear_it) {
  Quiet quiet;
  Clock::time_point now = Clock::now() + std::chrono::seconds(1);
  quiet.end(now);
  quiet.look(now += std::chrono::milliseconds(50));
  EXPECT_EQ(quiet.time(), std::chrono::milliseconds(50));
  quiet.look(now += std::chrono::hours(1));  // the process was stopped by Ctrl-Z
  EXPECT_EQ(quiet.time(), std::chrono::milliseconds(1050));
  for (int i = 0; i < 59; ++i) quiet.look(now += std::chrono::seconds(1));
  EXPECT_EQ(quiet.time(), std::chrono::milliseconds(60050));
  quiet.end(now);
  EXPECT_EQ(quiet.time(), Clock::duration::zero());
}

TEST(Child, is_not_waited_for_by_what_it_leaves_behind) {
  const Heard heard = shell("sleep 1000 >/dev/null & echo done");
  EXPECT_THAT(heard.lines, ElementsAre("done"));
  EXPECT_TRUE(heard.end.well);
}

TEST(Child, killed_from_outside_says_nothing_about_itself) {
  EXPECT_TRUE(shell("kill -KILL $$").end.by_others);
  EXPECT_TRUE(shell("kill -TERM $$").end.by_others);
  EXPECT_FALSE(shell("kill -SEGV $$").end.by_others);
}

TEST(Child, has_the_environment_of_this_process_but_for_what_is_replaced) {
  setenv("TANDEM_CHILD_TEST_KEPT", "kept", 1);
  setenv("TANDEM_CHILD_TEST", "old", 1);
  const Heard heard = shell("echo $TANDEM_CHILD_TEST_KEPT $TANDEM_CHILD_TEST", {{"TANDEM_CHILD_TEST", "new"}});
  EXPECT_THAT(heard.lines, ElementsAre("kept new"));
}

// The orchestrator is pinned to one core. A compiler that it starts must not share that core with other threads.
TEST(Child, may_use_the_cores_of_this_process_whatever_its_thread_is_pinned_to) {
  const char* cores = "grep Cpus_allowed_list /proc/self/status";
  const Heard whole = shell(cores);
  const std::vector<int> first{usable_cores().front()};
  const OnCores one(first);
  EXPECT_EQ(shell(cores).lines, whole.lines);
  EXPECT_EQ(cores_of_this_thread().size(), 1u) << "this thread stays where it was";
}

TEST(Child, that_cannot_be_started_is_an_error_that_names_it) {
  try {
    run_child({"/nonexistent/program", {}, {}}, [](const std::string&) {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/program"));
  }
}

}  // namespace
}  // namespace tandem::proof
