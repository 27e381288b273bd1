// A lack of memory, of threads or of stack is named, and the program makes room where it can.
#include "engine/app/scarcity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <system_error>
#include <thread>

namespace tandem::app {
namespace {

using ::testing::HasSubstr;

TEST(Scarcity, is_told_apart_from_other_failures) {
  const auto memory = scarcity_behind(std::bad_alloc());
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->failure(), "out of memory");
  EXPECT_THAT(memory->object(), HasSubstr(" MB mapped"));
  const auto threads =
      scarcity_behind(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  ASSERT_TRUE(threads);
  EXPECT_EQ(threads->failure(), "a thread could not be started");
  EXPECT_THAT(threads->object(), HasSubstr("of stack wanted"));
  EXPECT_FALSE(scarcity_behind(std::system_error(std::make_error_code(std::errc::permission_denied))));
  EXPECT_FALSE(scarcity_behind(Error("no tensor", "m.gguf")));
}

// Runs work() in a child process. Returns its status as a shell reports it.
int status_of(const auto& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int state = 0;
  waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

// Uses 4 KiB of stack for each level: four megabytes for kDeep levels.
__attribute__((noinline)) int deep(int levels) {
  volatile char room[4096];
  room[0] = static_cast<char>(levels);
  return levels == 0 ? room[0] : deep(levels - 1) + room[0] - room[0];
}
constexpr int kDeep = 1000;

int limited(rlim_t soft, rlim_t hard) {
  const rlimit limit{soft, hard};
  if (setrlimit(RLIMIT_STACK, &limit) != 0) return 99;
  return with_stack_room([] {
    int in_thread = 1;
    std::thread([&] { in_thread = deep(kDeep); }).join();
    return deep(kDeep) + in_thread + 7;
  });
}

TEST(StackRoom, is_made_where_the_limit_may_be_raised_and_where_it_may_not) {
  constexpr rlim_t kSmall = 128 << 10;
  EXPECT_EQ(status_of([] { return limited(kSmall, rlim_t{64} << 20); }), 7);
  EXPECT_EQ(status_of([] { return limited(kSmall, kSmall); }), 7);
}

}  // namespace
}  // namespace tandem::app
