// The program `tandem` as a child process, as a shell runs it: arguments, environment and input in; status, standard
// output and standard error out, apart from each other. The child can be watched while it runs, and interrupted at a
// moment that was seen.
//
// Contract: the child inherits the environment but for Tandem's own variables, and keeps compiled kernels and
// measurements in a folder of the build tree, which the tests of all runs share: compiling is most of a short run. It
// compiles what is missing before it writes (TANDEM_COMPILE=now), unless the settings say otherwise. It
// may last five minutes; one that is still alive then, or when its Child dies, is killed. One thread.
#pragma once

#include <signal.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tandem::testing {

struct Ended {
  int status = -1;  // as a shell tells it: the exit status, 128 + N where signal N ended it
  std::string out, err;
};

struct ChildSettings {
  std::map<std::string, std::string> environment{};  // what is set beside or in place of what is inherited
  std::string input{};                               // standard input, to its end
  bool keeps_input_open = false;                     // until close_input()
  std::string limits{};                              // as the shell's ulimit takes them: "-v 60000"
  bool closes_output = false;                        // as `>&-` does
};

class Child {
 public:
  explicit Child(std::vector<std::string> arguments, const ChildSettings& settings = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Collects output until `seen` holds; false where the child ended, or time was over, before that.
  bool wait_until(const std::function<bool()>& seen);
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }
  bool has_open(const std::string& path) const;  // maps this file now
  // Returns when the child has begun to read: the pipe holds all but the last byte.
  void write_until_read(const std::string& text);
  void close_input();
  void interrupt(int signal = SIGINT) const;  // as Ctrl-C
  Ended wait();

 private:
  bool collect(int milliseconds);  // false: both outputs have ended
  bool late() const { return std::chrono::steady_clock::now() > deadline_; }
  void reap();

  int pid_ = -1, in_ = -1, out_fd_ = -1, err_fd_ = -1, status_ = -1;
  std::string out_, err_;
  std::chrono::steady_clock::time_point deadline_;
};

// From start to end.
Ended tandem(std::vector<std::string> arguments, const ChildSettings& settings = {});

std::string path_of_tandem();  // the program itself, for shells

// The folder that children keep things in: XDG_CACHE_HOME.
std::string shared_cache();
// The folder in which PoCL keeps what this process compiles. Children that share a cache keep theirs there, too.
std::string cache_of_pocl();

}  // namespace tandem::testing
