// The program `tandem` as a child process, as a shell runs it. Arguments, environment and input go in; status, standard
// output and standard error come out separately. A test can watch the child while it runs, and interrupt it at a moment
// that the test has seen.
//
// Contract: the child inherits the environment except the variables TANDEM_* and REQUIRE_*. It keeps compiled kernels
// and measurements in a folder of the build tree, which the tests of all runs share: compiling is most of a short run.
// It compiles missing kernels before it writes (TANDEM_COMPILE=now), unless the settings say otherwise. A child is
// killed if it still runs after five minutes, or when its Child object is destroyed. One thread.
#pragma once

#include <signal.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tandem::testing {

struct Ended {
  int status = -1;  // as a shell reports it: the exit status, or 128 + N if signal N ended it
  std::string out, err;
};

struct ChildSettings {
  std::map<std::string, std::string> environment{};  // variables that are set beside or in place of inherited ones
  std::string input{};                               // all of standard input
  bool keeps_input_open = false;                     // until close_input() is called
  std::string limits{};                              // options of the shell's ulimit: "-v 60000"
  bool closes_output = false;                        // like `>&-`
  bool ignores_hangup = false;                       // like `nohup`
};

class Child {
 public:
  explicit Child(std::vector<std::string> arguments, const ChildSettings& settings = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Collects output until `seen` holds. Returns false if the child ends, or its time is over, before that.
  bool wait_until(const std::function<bool()>& seen);
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }
  bool has_open(const std::string& path) const;  // whether the child maps this file now
  // Pads `text` to one byte more than the pipe holds. So it returns only when the child has begun to read.
  void write_until_read(const std::string& text);
  void close_input();
  void interrupt(int signal = SIGINT) const;  // like Ctrl-C
  Ended wait();

 private:
  bool collect(int milliseconds);  // false: both outputs have ended
  bool late() const { return std::chrono::steady_clock::now() > deadline_; }
  void reap();

  int pid_ = -1, in_ = -1, out_fd_ = -1, err_fd_ = -1, status_ = -1;
  std::string out_, err_;
  std::chrono::steady_clock::time_point deadline_;
};

// Runs the program from start to end.
Ended tandem(std::vector<std::string> arguments, const ChildSettings& settings = {});

std::string path_of_tandem();  // the program itself, for shells

// The folder in which children keep their files (XDG_CACHE_HOME).
std::string shared_cache();
// The folder in which PoCL keeps kernels that this process compiles. Children that share a cache use it, too.
std::string cache_of_pocl();

}  // namespace tandem::testing
