// The process that compiles in the background inherits only the environment of the process that starts it.
#include "engine/run/machine/warming.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Sets an environment variable, and restores it at its end.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_.c_str(), before_->c_str(), 1) : unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

TEST(BackgroundProcess, has_no_file_folder_session_or_signal_setting_of_the_one_that_starts_it) {
  const testing::ScratchFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.file("cache"));
  const std::string script = folder.file("script"), report = folder.file("report");
  std::ofstream(script) << "#!/bin/sh\n{ ls -l /proc/$$/fd; echo folder $(pwd); grep SigIgn /proc/$$/status; "
                           "echo session $(cut -d' ' -f6 /proc/$$/stat) of $$; echo argument $1; } >"
                        << report << ".part\nmv " << report << ".part " << report << "\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const int file = open(folder.file("lock").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_GE(file, 0);
  const auto before = signal(SIGHUP, SIG_IGN);
  Warming warming("a set", script);
  EXPECT_TRUE(warming.start({"word"}));
  signal(SIGHUP, before);
  for (int i = 0; i < 3000 && !std::filesystem::exists(report); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::ifstream in(report);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  close(file);
  EXPECT_THAT(text, HasSubstr("argument word"));
  EXPECT_THAT(text, Not(HasSubstr(folder.file("lock"))));
  EXPECT_THAT(text, HasSubstr("folder /\n"));
  EXPECT_THAT(text, HasSubstr("0000000\nsession")) << "SIGHUP is ignored here, and so is no other";
  const std::string session = text.substr(text.find("session ") + 8);
  EXPECT_EQ(session.substr(0, session.find(' ')), session.substr(session.find("of ") + 3, session.find(' ')));
}

// It starts in another folder, where a relative path would lead elsewhere.
TEST(BackgroundProcess, keeps_files_where_the_one_that_starts_it_does) {
  const testing::ScratchFolder folder;
  const Variable cache("XDG_CACHE_HOME", "some"), home("HOME", "other");
  const std::string script = folder.file("script"), report = folder.file("report");
  std::ofstream(script) << "#!/bin/sh\necho $XDG_CACHE_HOME $HOME end >" << report << "\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  Warming warming("a set", script);
  EXPECT_TRUE(warming.start({}));
  const std::string here = std::filesystem::current_path(), expected = here + "/some " + here + "/other end\n";
  std::string text;
  for (int i = 0; i < 3000 && text != expected; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::ifstream in(report);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  EXPECT_EQ(text, expected);
}

TEST(BackgroundProcess, has_the_limits_that_it_may_have) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit small{rlim_t{1} << 20, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    give_way_to_others();
    rlimit now{};
    getrlimit(RLIMIT_FSIZE, &now);
    _exit(now.rlim_cur == limit.rlim_max && getpriority(PRIO_PROCESS, 0) >= 15 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tandem
