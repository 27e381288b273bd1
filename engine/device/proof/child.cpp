#include "engine/device/proof/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "sync/clock.h"
#include "sync/error.h"

extern char** environ;

namespace tandem::proof {
namespace {

constexpr size_t kMostLastWords = 300;

// Both ends close themselves in whatever this process starts meanwhile.
struct Pipe {
  Pipe() { TANDEM_CHECK(pipe2(ends.data(), O_CLOEXEC) == 0, std::strerror(errno)); }
  ~Pipe() {
    close_writing();
    close(ends[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_writing() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }
  std::array<int, 2> ends{-1, -1};
};

// Takes lines out of what arrives in pieces.
class Lines {
 public:
  explicit Lines(std::function<void(const std::string&)> on_line) : on_line_(std::move(on_line)) {}
  // False at the end of the stream.
  bool read_from(int file) {
    char piece[4096];
    const ssize_t bytes = read(file, piece, sizeof piece);
    if (bytes <= 0) return bytes < 0 && errno == EINTR;
    rest_.append(piece, static_cast<size_t>(bytes));
    for (size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1))
      on_line_(rest_.substr(0, end));
    return true;
  }
  void finish() {
    if (!rest_.empty()) on_line_(std::exchange(rest_, ""));
  }

 private:
  std::function<void(const std::string&)> on_line_;
  std::string rest_;
};

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& replaced) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const auto same = [&](const auto& one) { return text.starts_with(one.first + "="); };
    if (std::ranges::none_of(replaced, same)) all.emplace_back(text);
  }
  for (const auto& [name, value] : replaced) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

pid_t spawn(const std::string& program, std::vector<std::string> arguments, std::vector<std::string> environment,
            const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);  // so that compilers it starts can be ended with it
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  arguments.insert(arguments.begin(), program);
  pid_t child = -1;
  const int failed = posix_spawn(&child, program.c_str(), &files, &attributes, pointers(arguments).data(),
                                 pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw Error("a program cannot be started: " + std::string(std::strerror(failed)), program);
  return child;
}

bool often_sent_by_others(int signal) {
  const int usual[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
  return std::ranges::count(usual, signal) > 0;
}

ChildEnd describe(int status) {
  ChildEnd end;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* name = sigabbrev_np(signal);
    end.how = std::string("was ended by SIG") + (name ? name : "?") + " (" + strsignal(signal) + ")";
    end.by_others = often_sent_by_others(signal);
  } else {
    end.well = WEXITSTATUS(status) == 0;
    end.how = "ended with status " + std::to_string(WEXITSTATUS(status));
  }
  return end;
}

}  // namespace

ChildEnd run_child(const std::string& program, const std::vector<std::string>& arguments,
                   const std::vector<std::pair<std::string, std::string>>& environment, std::chrono::seconds silence,
                   const std::function<void(const std::string&)>& on_line) {
  Pipe out, err;
  const pid_t child = spawn(program, arguments, environment_with(environment), out, err);
  out.close_writing();
  err.close_writing();
  std::string last_words;
  Clock::time_point heard = Clock::now();
  Lines report([&](const std::string& line) {
    heard = Clock::now();
    on_line(line);
  });
  Lines words([&](const std::string& line) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last_words = line.substr(0, kMostLastWords);
  });
  // The report ends with the child; what it has started may keep its standard error open longer.
  bool hung = false;
  pollfd files[] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
  while (files[0].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(heard + silence - Clock::now()).count();
    if ((hung = left <= 0)) break;
    if (poll(files, 2, static_cast<int>(std::min<int64_t>(left, 1000))) <= 0) continue;
    if (files[1].revents && !words.read_from(files[1].fd)) files[1].fd = -1;
    if (files[0].revents && !report.read_from(files[0].fd)) files[0].fd = -1;
  }
  if (hung) kill(-child, SIGKILL);
  siginfo_t ended;
  while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  kill(-child, SIGKILL);  // what it has left behind; its number is still taken
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  pollfd rest{err.ends[0], POLLIN, 0};
  while (files[1].fd >= 0 && poll(&rest, 1, 0) > 0 && words.read_from(rest.fd)) {
  }
  report.finish();
  words.finish();
  ChildEnd end = describe(status);
  if (hung) end = {false, false, "gave no sign for " + std::to_string(silence.count()) + " s and was ended", ""};
  end.last_words = last_words;
  return end;
}

}  // namespace tandem::proof
