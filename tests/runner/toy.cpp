// Tests that behave in every way that the runner must handle.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

int passed_in_this_process = 0;

TEST(Toy, passes) { std::printf("passes says this\n"); }
TEST(Toy, fails) { EXPECT_EQ(3, 4) << "three is not four"; }
TEST(Toy, is_skipped) { GTEST_SKIP() << "never here"; }
TEST(Toy, says_half_a_line) { std::fputs("half a line", stderr); }
TEST(Toy, crashes) { raise(SIGKILL); }
TEST(Toy, passes_behind_the_crash) {}
TEST(Toy, hangs) {
  std::printf("hangs says this\n");
  std::fflush(stdout);
  for (;;) pause();
}
TEST(Toy, passes_behind_the_hang) {}
TEST(Toy, ends_the_program) { std::exit(0); }
TEST(Toy, leaves_a_child) {
  if (fork() == 0) {
    sleep(1000);
    _exit(0);
  }
}
TEST(Toy, breaks_the_end) {
  std::atexit([] { _exit(3); });
}

// The second one fails in a process that the first one has left much memory.
std::vector<char> kept;
TEST(Toy, keeps_much_memory) { kept.assign(300 << 20, 1); }
TEST(Toy, has_little_memory) { EXPECT_TRUE(kept.empty()); }
TEST(Toy, has_little_memory_too) { EXPECT_TRUE(kept.empty()); }

// Each test passes alone. A process that runs both ends badly.
class Pair : public ::testing::Test {
 protected:
  void TearDown() override {
    if (++passed_in_this_process == 2) std::atexit([] { _exit(4); });
  }
};
TEST_F(Pair, is_fine) {}
TEST_F(Pair, is_fine_alone) {}

class Numbers : public ::testing::TestWithParam<int> {};
TEST_P(Numbers, are_even) { EXPECT_EQ(GetParam() % 2, 0); }
INSTANTIATE_TEST_SUITE_P(Of, Numbers, ::testing::Values(2, 3));

}  // namespace
