#include "sync/long_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace tandem {
namespace {

using ::testing::HasSubstr;

class LongWaits : public ::testing::Test {
 protected:
  void TearDown() override { stop_waits_when(nullptr); }
};

TEST_F(LongWaits, are_said_once_when_they_have_taken_a_second) {
  ::testing::internal::CaptureStderr();
  LongWait wait("a neighbour");
  wait.look();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  ::testing::internal::CaptureStderr();
  wait.look();
  wait.look();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "waiting for a neighbour ...\n");
}

TEST_F(LongWaits, in_parts_do_not_count_what_lies_between_them) {
  ::testing::internal::CaptureStderr();
  LongWait wait("a neighbour");
  wait.pause();
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  wait.begin();
  wait.look();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(LongWaits, end_where_the_user_asks_to_stop) {
  LongWait wait("a neighbour");
  EXPECT_NO_THROW(wait.look());
  stop_waits_when([] { return true; });
  EXPECT_TRUE(stop_is_asked());
  EXPECT_THROW(wait.look(), Interrupted);
  stop_waits_when(nullptr);
  EXPECT_NO_THROW(wait.look());
}

// This must be the last test of the program that listens, because the quiet setting is permanent.
TEST(QuietWaits, are_not_said) {
  LongWait wait("a neighbour");
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  keep_waits_to_yourself();
  ::testing::internal::CaptureStderr();
  wait.look();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace tandem
