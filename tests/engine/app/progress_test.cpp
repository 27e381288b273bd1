// The progress bar, on and off a terminal.
#include "engine/app/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::app {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Progress, a_line_tells_share_and_amounts_and_fits_a_terminal) {
  EXPECT_EQ(Progress::line("loading", ProgressUnit::bytes, 50'000'000, 100'000'000),
            "loading [============>           ]  50 %  50.0 / 100.0 MB");
  EXPECT_EQ(Progress::line("prompt", ProgressUnit::tokens, 3, 4),
            "prompt [==================>     ]  75 %  3 / 4 tokens");
  EXPECT_THAT(Progress::line("measuring", ProgressUnit::points, 3, 4), HasSubstr("75 %  3 / 4 points"));
  EXPECT_LE(Progress::line(std::string(200, 'x'), ProgressUnit::bytes, 1, 2).size(), 79u);
}

TEST(Progress, the_ends_and_an_empty_total_stay_in_the_bar) {
  EXPECT_THAT(Progress::line("a", ProgressUnit::tokens, 0, 4), HasSubstr("[>                       ]   0 %"));
  EXPECT_THAT(Progress::line("a", ProgressUnit::tokens, 4, 4), HasSubstr("[========================] 100 %"));
  EXPECT_THAT(Progress::line("a", ProgressUnit::tokens, 9, 4), HasSubstr("100 %"));
  EXPECT_THAT(Progress::line("a", ProgressUnit::tokens, 0, 0), HasSubstr("100 %"));
}

TEST(Progress, nothing_is_written_when_it_is_not_shown) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress("loading", ProgressUnit::bytes, false);
    progress.update(1, 2);
    progress.clear();
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), IsEmpty());
}

TEST(Progress, a_shown_bar_is_wiped_when_it_is_complete) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress("loading", ProgressUnit::bytes, true);
    progress.update(1, 2);
    progress.update(2, 2);
  }
  std::string written = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(written, HasSubstr("loading ["));
  EXPECT_THAT(written, EndsWith("\r\033[K"));
}

}  // namespace
}  // namespace tandem::app
