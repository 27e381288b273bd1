#include "engine/device/proof/conversation.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sync/error.h"
#include "sync/long_wait.h"
#include "tests/support/scratch_folder.h"

namespace tandem::proof {
namespace {

using ::testing::HasSubstr;

// Questions have five letters here. Without another one the shell ends.
constexpr const char* kTakeQuestion = "head -c 8 >/dev/null; question=$(head -c 5); [ $question ] || exit 0; ";

ChildTask asked_shell(const std::string& script, std::chrono::seconds silence = std::chrono::seconds(30)) {
  return {"/bin/sh", {"-c", script}, {}, silence, "a shell"};
}

TEST(Conversation, has_an_answer_for_every_question) {
  Conversation child(asked_shell(std::string("while :; do ") + kTakeQuestion + "echo \"$question?\"; done"));
  for (const char* question : {"first", "other"}) {
    const auto answer = child.ask(question);
    ASSERT_TRUE(answer.given) << answer.end.in_one();
    EXPECT_EQ(answer.line, question + std::string("?"));
  }
}

TEST(Conversation, tells_how_the_child_died_of_a_question_and_goes_on_with_another) {
  Conversation child(
      asked_shell(std::string("while :; do ") + kTakeQuestion +
                  "[ $question = fatal ] && { echo 'Cannot select' >&2; kill -SEGV $$; }; echo well; done"));
  EXPECT_TRUE(child.ask("first").given);
  const auto answer = child.ask("fatal");
  EXPECT_FALSE(answer.given);
  EXPECT_THAT(answer.end.in_one(), HasSubstr("SIGSEGV"));
  EXPECT_THAT(answer.end.in_one(), HasSubstr("Cannot select"));
  EXPECT_EQ(child.ask("other").line, "well");
}

TEST(Conversation, goes_on_with_another_child_when_one_has_gone_for_want_of_questions) {
  Conversation child(asked_shell(std::string(kTakeQuestion) + "echo $$"));
  const auto first = child.ask("first"), second = child.ask("other");
  ASSERT_TRUE(first.given && second.given) << second.end.in_one();
  EXPECT_NE(first.line, second.line);
}

TEST(Conversation, ends_a_child_that_gives_no_answer) {
  Conversation child(asked_shell("sleep 1000", std::chrono::seconds(1)));
  const auto answer = child.ask("first");
  EXPECT_FALSE(answer.given);
  EXPECT_THAT(answer.end.how, HasSubstr("gave no sign for 1 s"));
}

TEST(Conversation, says_of_each_wait_what_it_waits_for) {
  Conversation child(asked_shell(std::string("while :; do ") + kTakeQuestion + "sleep 1.2; echo done; done"));
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(child.ask("first").given && child.ask("other").given);
  child.begin_wait("the next start");
  EXPECT_TRUE(child.ask("third").given);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("waiting for"), 0u) << said;
  EXPECT_EQ(said.find("waiting for", 1), said.find("waiting for the next start ...\n")) << said;
}

TEST(Conversation, ends_where_the_user_asks_to_stop) {
  stop_waits_when([] { return true; });
  Conversation child(asked_shell("sleep 1000"));
  EXPECT_THROW(child.ask("first"), Interrupted);
  stop_waits_when(nullptr);
}

TEST(Conversation, with_a_program_that_is_not_there_is_an_error) {
  Conversation child({"/nonexistent/program", {}, {}});
  EXPECT_THROW(child.ask("first"), Error);
}

TEST(Conversation, gives_the_child_no_file_of_this_process) {
  const testing::ScratchFolder folder;
  const int file = open(folder.file("lock").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_GE(file, 0);
  Conversation child(asked_shell(std::string(kTakeQuestion) + "ls -l /proc/$$/fd | grep -c " + folder.file("lock")));
  EXPECT_EQ(child.ask("first").line, "0");
  close(file);
}

}  // namespace
}  // namespace tandem::proof
