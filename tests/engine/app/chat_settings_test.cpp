// `/set NAME VALUE` of a chat: each name, and values beyond its range.
#include "engine/app/commands/text/chat_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sync/error.h"

namespace tandem::app {
namespace {

TEST(ChatSettings, change_what_they_name) {
  GenerateOptions options;
  for (const char* setting : {"temp 0.25", "top-k 7", "top-p 0.5", "min-p 0.125", "repeat-penalty 1.5", "predict -1"})
    change_setting(options, setting);
  change_setting(options, "seed 18446744073709551615");
  EXPECT_EQ(settings_of(options),
            "temp 0.25, top-k 7, top-p 0.5, min-p 0.125, repeat-penalty 1.5, predict -1, seed 18446744073709551615");
}

TEST(ChatSettings, refuse_what_is_out_of_range_and_keep_the_old_value) {
  GenerateOptions options;
  const std::string before = settings_of(options);
  for (const char* wrong :
       {"temp", "temp hot", "temp -1", "temp 101", "temp 1 2", "top-k -1", "top-k 1.5", "top-p 1.01", "min-p -0.1",
        "repeat-penalty 0", "predict -2", "seed x", "seed -2", "warmth 1", "", " temp 1"})
    EXPECT_THROW(change_setting(options, wrong), Error) << wrong;
  EXPECT_EQ(settings_of(options), before);
  try {
    change_setting(options, "warmth 1");
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(kChatSettings));
  }
}

}  // namespace
}  // namespace tandem::app
