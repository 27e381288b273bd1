#include "engine/device/proof/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "engine/device/proof/spawn.h"
#include "sync/error.h"

extern char** environ;

namespace tandem::proof {
namespace {

constexpr size_t kMostLastWords = 500;              // a message with two long names of devices fits
constexpr std::chrono::microseconds kPause{20000};  // longest pause between looks at a child that is about to end

void close_file(int& file) {
  if (file >= 0) close(file);
  file = -1;
}

// Two connected sockets. Both are CLOEXEC: no program that this process starts meanwhile inherits them. Writing to a
// socket without a reader can be an error (MSG_NOSIGNAL), while writing to such a pipe raises a signal.
struct Ends {
  Ends() {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both.data()) != 0)
      throw Error("no socket for a child process could be opened (" + std::string(std::strerror(errno)) + ")",
                  "this process", errno == EMFILE ? "Allow more open files (ulimit -n)" : "Try again later");
  }
  ~Ends() {
    for (int& file : both) close_file(file);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  int take_first() { return std::exchange(both[0], -1); }
  std::array<int, 2> both{-1, -1};
};

// The variables of this process, with those in `replaced` set instead of or besides them.
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

// Starts the task's program with these standard files; -1: /dev/null. Error with the system's reason.
pid_t start(const ChildTask& task, int input, int output, int errors) {
  pid_t child = -1;
  const int failed =
      spawn({task.program, task.arguments, environment_with(task.environment), {input, output, errors}}, child);
  if (failed != 0) throw Error("a program cannot be started: " + std::string(std::strerror(failed)), task.program);
  return child;
}

// Signals that users and the system send. A driver that crashes raises others (SIGSEGV, SIGABRT, ...).
bool often_sent_by_others(int signal) {
  const int usual[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
  return std::ranges::count(usual, signal) > 0;
}

// Puts the status that waitpid() gave into words.
ChildEnd describe(int status) {
  ChildEnd end;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* name = sigabbrev_np(signal);
    end.how = std::string("was ended by SIG") + (name ? name : "?") + " (" + strsignal(signal) + ")";
    end.by_others = often_sent_by_others(signal);
  } else {
    end.status = WEXITSTATUS(status);
    end.well = end.status == 0;
    end.how = "ended with status " + std::to_string(end.status);
  }
  return end;
}

// Whether the child was silent for want of the machine. One of its threads waits for the disk (D) or is stopped (T, t).
// Or a thread is ready to run (R) and has waited for a core for longer than a third of `silence`.
bool is_starved(pid_t process, std::chrono::seconds silence) {
  std::error_code ignored;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", ignored)) {
    int64_t ran_ns = 0, waited_ns = 0;
    std::string name, state;
    // Nanoseconds on a core, and nanoseconds of waiting for one, since the thread began.
    std::ifstream(thread.path() / "schedstat") >> ran_ns >> waited_ns;
    std::ifstream stat(thread.path() / "stat");
    std::getline(stat, name, ')');  // "NUMBER (NAME) STATE ..."
    stat >> state;
    // A spinning thread that shares two cores with two busy neighbours waits a third of the time. Only more than
    // that counts.
    if (state == "D" || state == "T" || state == "t" ||
        (state == "R" && 3 * std::chrono::nanoseconds(waited_ns) > silence))
      return true;
  }
  return false;
}

}  // namespace

// Passes on whole lines and keeps the rest for the next read. False: the file has ended, or reading fails.
bool Lines::read_from(int file, const std::function<void(const std::string&)>& on_line) {
  char piece[4096];
  const ssize_t bytes = read(file, piece, sizeof piece);
  if (bytes <= 0) return bytes < 0 && errno == EINTR;
  rest_.append(piece, static_cast<size_t>(bytes));
  for (size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1))
    on_line(rest_.substr(0, end));
  return true;
}

void Lines::finish(const std::function<void(const std::string&)>& on_line) {
  if (!rest_.empty()) on_line(std::exchange(rest_, ""));
}

// The destructors of the pairs close the child's ends in this process. So these files end when the child ends.
ChildProcess::ChildProcess(const ChildTask& task, bool asked) : silence_(task.silence) {
  Ends input, output, errors;
  process_ = start(task, asked ? input.both[1] : -1, output.both[1], errors.both[1]);
  if (asked) input_ = input.take_first();
  output_ = output.take_first();
  errors_ = errors.take_first();
}

ChildProcess::~ChildProcess() {
  if (process_ > 0) kill_and_reap();
  for (int* file : {&input_, &output_, &errors_}) close_file(*file);
}

// Keeps the last line that is not blank, cut to kMostLastWords bytes.
void ChildProcess::hear_words() {
  const auto word = [&](const std::string& line) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last_words_ = line.substr(0, kMostLastWords);
  };
  if (!words_.read_from(errors_, word)) words_.finish(word), close_file(errors_);
}

// Only the end of standard output counts as the end of the child's report. Processes that the child has started may
// keep its standard error open for longer.
bool ChildProcess::listen(const std::function<void(const std::string&)>& on_line) {
  const auto line = [&](const std::string& text) {
    is_heard();
    on_line(text);
  };
  pollfd files[] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}};
  if (output_ < 0 || poll(files, 2, static_cast<int>(kLookEvery.count())) <= 0) return output_ >= 0;
  if (files[1].revents) hear_words();
  if (files[0].revents && !report_.read_from(output_, line)) report_.finish(line), close_file(output_);
  return output_ >= 0;
}

// Sends without blocking, so that a child that hangs, and a user who asks to stop, are noticed between two attempts.
bool ChildProcess::write(std::string_view bytes, LongWait& wait) {
  while (!bytes.empty() && input_ >= 0) {
    const ssize_t sent = send(input_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    if (sent > 0 || errno == EINTR) continue;
    if (errno != EAGAIN || is_silent()) return false;
    wait.look();
    pollfd file{input_, POLLOUT, 0};
    poll(&file, 1, static_cast<int>(kLookEvery.count()));
  }
  return bytes.empty();
}

void ChildProcess::close_input() { close_file(input_); }

// WNOWAIT leaves the child unreaped, so that its number stays taken until its group is killed.
bool ChildProcess::has_ended() const {
  siginfo_t ended{};
  return waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOWAIT | WNOHANG) == 0 && ended.si_pid != 0;
}

// Kills the group before the child is reaped: until then no other process can get its number.
int ChildProcess::kill_and_reap() {
  kill(-process_, SIGKILL);
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  return status;
}

// Waits with growing pauses until the child has ended or is silent for too long. Then kills its group and reads what is
// left of its standard error. A silent child is described by its silence, since the SIGKILL was this process's own.
ChildEnd ChildProcess::end(LongWait& wait) {
  bool silent = is_silent();
  for (auto pause = std::chrono::microseconds(100); !silent && !has_ended(); pause = std::min(2 * pause, kPause)) {
    wait.look();
    silent = is_silent();
    std::this_thread::sleep_for(pause);
  }
  const bool starved = silent && is_starved(process_, silence_);
  ChildEnd end = describe(kill_and_reap());
  for (pollfd rest{errors_, POLLIN, 0}; errors_ >= 0 && poll(&rest, 1, 0) > 0;) hear_words();
  if (silent) {
    end = {};
    end.starved = starved;
    end.how = "gave no sign for " + std::to_string(silence_.count()) + " s and was ended";
  }
  end.last_words = last_words_;
  return end;
}

}  // namespace tandem::proof
