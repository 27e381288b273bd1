#include "tests/engine/app/commands/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

extern char** environ;

namespace tandem::testing {
namespace {

constexpr std::chrono::minutes kLongest{5};
constexpr int kSmallestPipe = 4096;

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe2: ") + std::strerror(errno));
    read = ends[0];
    write = ends[1];
  }
};

std::vector<std::string> environment_of_child(const ChildSettings& settings) {
  std::map<std::string, std::string> values;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string::npos || text.starts_with("TANDEM_") || text.starts_with("REQUIRE_")) continue;
    values[text.substr(0, equals)] = text.substr(equals + 1);
  }
  values["XDG_CACHE_HOME"] = shared_cache();
  values["TANDEM_COMPILE"] = "now";
  for (const auto& [name, value] : settings.environment) values[name] = value;
  // Children that share a cache use the kernels that PoCL compiled for other tests.
  if (const std::string pocl = cache_of_pocl(); values["XDG_CACHE_HOME"] == shared_cache() && !pocl.empty())
    values.emplace("POCL_CACHE_DIR", pocl);
  std::vector<std::string> list;
  for (const auto& [name, value] : values) list.push_back(name + "=" + value);
  return list;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

void close_once(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

// Reads the bytes that are there, and closes a stream that has ended.
void read_some(int& fd, std::string& into) {
  char buffer[65536];
  const ssize_t count = read(fd, buffer, sizeof(buffer));
  if (count > 0)
    into.append(buffer, static_cast<size_t>(count));
  else if (count == 0 || errno != EINTR)
    close_once(fd);
}

// On a busy machine the program waits for processes that try drivers, and prints lines about it. They are dropped here.
std::string without_waits(const std::string& text) {
  std::istringstream lines(text);
  std::string rest;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("waiting for ")) rest += line + (lines.eof() ? "" : "\n");
  return rest;
}

}  // namespace

std::string cache_of_pocl() {
  if (const char* own = std::getenv("POCL_CACHE_DIR")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return std::string(cache) + "/pocl/kcache";
  const char* home = std::getenv("HOME");
  return home ? std::string(home) + "/.cache/pocl/kcache" : "";
}

std::string path_of_tandem() { return TANDEM_PROGRAM; }

std::string shared_cache() {
  const std::string folder = std::filesystem::path(TANDEM_PROGRAM).parent_path() / "cache_of_command_tests";
  std::filesystem::create_directories(folder);
  return folder;
}

Child::Child(std::vector<std::string> arguments, const ChildSettings& settings)
    : deadline_(std::chrono::steady_clock::now() + kLongest) {
  signal(SIGPIPE, SIG_IGN);  // a child that ends before it has read everything does not end the test
  const char* program = TANDEM_PROGRAM;
  arguments.insert(arguments.begin(), TANDEM_PROGRAM);
  if (!settings.limits.empty() || settings.closes_output || settings.ignores_hangup) {
    program = "/bin/sh";
    const std::string limit = settings.limits.empty() ? "" : "ulimit " + settings.limits + " && ";
    const std::string trap = settings.ignores_hangup ? "trap '' HUP && " : "";
    const std::string run = std::string(R"(exec "$0" "$@")") + (settings.closes_output ? " >&-" : "");
    arguments.insert(arguments.begin(), {"sh", "-c", limit + trap + run});
  }
  std::vector<std::string> environment = environment_of_child(settings);
  const Pipe in, out, err;
  if (settings.keeps_input_open) fcntl(in.write, F_SETPIPE_SZ, kSmallestPipe);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.write, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGHUP);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int failure =
      posix_spawn(&pid_, program, &files, &attributes, pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  close(in.read);
  close(out.write);
  close(err.write);
  in_ = in.write;
  out_fd_ = out.read;
  err_fd_ = err.read;
  if (failure != 0) throw std::runtime_error(std::string("cannot start " TANDEM_PROGRAM ": ") + std::strerror(failure));
  if (settings.keeps_input_open) return;
  size_t written = 0;
  while (written < settings.input.size()) {
    const ssize_t count = write(in_, settings.input.data() + written, settings.input.size() - written);
    if (count <= 0) break;
    written += static_cast<size_t>(count);
  }
  close_input();
}

Child::~Child() {
  if (pid_ > 0 && status_ < 0) {
    kill(pid_, SIGKILL);
    reap();
  }
  close_once(in_);
  close_once(out_fd_);
  close_once(err_fd_);
}

bool Child::collect(int milliseconds) {
  if (out_fd_ < 0 && err_fd_ < 0) return false;
  pollfd watched[] = {{out_fd_, POLLIN, 0}, {err_fd_, POLLIN, 0}};  // poll() ignores negative descriptors
  if (poll(watched, 2, milliseconds) > 0) {
    if (watched[0].revents) read_some(out_fd_, out_);
    if (watched[1].revents) read_some(err_fd_, err_);
  }
  return out_fd_ >= 0 || err_fd_ >= 0;
}

bool Child::wait_until(const std::function<bool()>& seen) {
  while (!seen()) {
    if (!collect(1) || late()) return seen();
  }
  return true;
}

bool Child::has_open(const std::string& path) const {
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  const std::string wanted = std::filesystem::canonical(path);
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(wanted)) return true;
  }
  return false;
}

void Child::write_until_read(const std::string& text) {
  std::string whole = text;
  whole.resize(kSmallestPipe + 1, ' ');
  size_t written = 0;
  while (written < whole.size()) {
    const ssize_t count = write(in_, whole.data() + written, whole.size() - written);
    ASSERT_GT(count, 0) << "the child does not read its input";
    written += static_cast<size_t>(count);
  }
}

void Child::close_input() { close_once(in_); }

void Child::interrupt(int signal) const { kill(pid_, signal); }

void Child::reap() {
  int state = 0;
  while (waitpid(pid_, &state, 0) < 0 && errno == EINTR) {
  }
  status_ = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

Ended Child::wait() {
  while (collect(100)) {
    if (!late()) continue;
    ADD_FAILURE() << "the program did not end within five minutes and is killed; it had said: " << err_;
    kill(pid_, SIGKILL);
    break;
  }
  reap();
  return {status_, std::move(out_), without_waits(err_)};
}

Ended tandem(std::vector<std::string> arguments, const ChildSettings& settings) {
  return Child(std::move(arguments), settings).wait();
}

}  // namespace tandem::testing
