// `tandem chat` for a person on a terminal: edited lines, their history, Ctrl-C and Ctrl-D.
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

// The program on a terminal of its own. It is killed with the object.
class Terminal {
 public:
  explicit Terminal(Arguments arguments) {
    arguments.insert(arguments.begin(), path_of_tandem());
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    pid_ = forkpty(&fd_, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
      setenv("TERM", "xterm", 1);
      execv(words[0], words.data());
      _exit(127);
    }
  }
  ~Terminal() {
    if (pid_ > 0) kill(pid_, SIGKILL), wait();
    close(fd_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& keys) {
    seen_ = shown_.size();
    ASSERT_EQ(write(fd_, keys.data(), keys.size()), std::ssize(keys));
  }
  // Whether this is shown after what was typed last.
  bool shows(const std::string& text) {
    for (const auto end = Clock::now() + std::chrono::seconds(60); Clock::now() < end;) {
      if (const size_t place = shown_.find(text, seen_); place != std::string::npos) return true;
      pollfd ready{fd_, POLLIN, 0};
      if (poll(&ready, 1, 100) <= 0) continue;
      char piece[4096];
      const ssize_t count = read(fd_, piece, sizeof piece);
      if (count <= 0) break;  // the program has ended
      shown_.append(piece, static_cast<size_t>(count));
    }
    return shown_.find(text, seen_) != std::string::npos;
  }
  // The exit status at the end.
  int wait() {
    shows("\x1b[never");
    int status = -1;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& shown() const { return shown_; }

 private:
  using Clock = std::chrono::steady_clock;
  int pid_ = -1, fd_ = -1;
  std::string shown_;
  size_t seen_ = 0;
};

Arguments chat_of_stories(const Arguments& more) {
  return Arguments{"chat", "-m", stories(), "--chat-template", "chatml", "--ignore-eos"} + on_host() + more;
}

TEST(ChatTerminal, ctrl_c_ends_the_answer_and_not_the_program) {
  Terminal terminal(chat_of_stories({"-c", "60000"}));
  ASSERT_TRUE(terminal.shows("> ")) << terminal.shown();
  terminal.type("Once upon a time\n");
  ASSERT_TRUE(terminal.shows("the")) << terminal.shown();
  terminal.type("\x03");
  ASSERT_TRUE(terminal.shows("> ")) << terminal.shown();
  terminal.type("half a line\x03");  // drops the line
  ASSERT_TRUE(terminal.shows("\n> ")) << terminal.shown();
  terminal.type("/stats\n");
  ASSERT_TRUE(terminal.shows("1 turns: ")) << terminal.shown();
  ASSERT_TRUE(terminal.shows("> "));
  terminal.type("\x04");
  EXPECT_EQ(terminal.wait(), 0) << terminal.shown();
}

TEST(ChatTerminal, edits_lines_and_finds_earlier_ones) {
  const Folder folder;
  const std::string file = folder.file("chat.json");
  Terminal terminal(chat_of_stories({"-n", "2"}));
  ASSERT_TRUE(terminal.shows("> ")) << terminal.shown();
  terminal.type("/save " + folder.file("wrong.jsonx") + "\x7f\n");  // a character is taken back
  ASSERT_TRUE(terminal.shows("> "));
  terminal.type("Z\xC3\xBCrich\n");
  ASSERT_TRUE(terminal.shows("tokens that were asked for"));
  ASSERT_TRUE(terminal.shows("> "));
  terminal.type("/save " + file + "\n");
  ASSERT_TRUE(terminal.shows("> "));
#ifdef TANDEM_HAS_LIBEDIT
  terminal.type("/help\n");
  ASSERT_TRUE(terminal.shows("/trace FILE"));
  terminal.type("\x1b[A\n");  // the line before
  ASSERT_TRUE(terminal.shows("/trace FILE")) << terminal.shown();
  terminal.type("/hlp\x1b[D\x1b[De\n");  // "e" in front of the last two
  ASSERT_TRUE(terminal.shows("/trace FILE")) << terminal.shown();
#endif
  terminal.type("/quit\n");
  EXPECT_EQ(terminal.wait(), 0) << terminal.shown();
  EXPECT_EQ(json::parse(content_of(file)).at(0).at("content"), "Z\xC3\xBCrich");
}

}  // namespace
}  // namespace tandem::testing
