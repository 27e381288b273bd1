// A child process with pipes to it: what run_child() and Conversation are made of.
//
// Contract: started with posix_spawn in a process group of its own, with no file of this process but its standard ones,
// no blocked signal and no handler. Ended, with everything that it has started, when this is destroyed. Threads: one.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "engine/device/proof/child.h"
#include "sync/clock.h"
#include "sync/long_wait.h"

namespace tandem::proof {

// Takes lines out of what arrives in pieces.
class Lines {
 public:
  // False at the end of the stream.
  bool read_from(int file, const std::function<void(const std::string&)>& on_line);
  void finish(const std::function<void(const std::string&)>& on_line);

 private:
  std::string rest_;
};

// How long nothing was heard, counted by looks. One that comes late counts as a second: this process was stopped
// meanwhile (Ctrl-Z, a debugger, a machine that sleeps), and could not hear what was said.
class Quiet {
 public:
  void look(Clock::time_point now) {
    time_ += std::min<Clock::duration>(now - looked_, std::chrono::seconds(1));
    looked_ = now;
  }
  void end(Clock::time_point now) { time_ = {}, looked_ = now; }
  Clock::duration time() const { return time_; }

 private:
  Clock::duration time_{};
  Clock::time_point looked_ = Clock::now();
};

class ChildProcess {
 public:
  // asked: a pipe leads to its standard input, which is empty else. Error when it cannot be started.
  ChildProcess(const ChildTask& task, bool asked);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Waits for a moment, and reads what has come. False: its standard output has ended.
  bool listen(const std::function<void(const std::string&)>& on_line);
  // False: it reads no more. Interrupted by the wait.
  bool write(std::string_view bytes, LongWait& wait);
  void close_input();
  // Nothing was heard of it for as long as its task allows.
  bool is_silent() {
    quiet_.look(Clock::now());
    return quiet_.time() > silence_;
  }
  void is_heard() { quiet_.end(Clock::now()); }

  // Waits for its end, or ends it where it is silent, and describes that. Interrupted by the wait.
  ChildEnd end(LongWait& wait);

 private:
  void hear_words();
  bool has_ended() const;
  int kill_and_reap();

  const std::chrono::seconds silence_;
  pid_t process_ = 0;
  int input_ = -1, output_ = -1, errors_ = -1;  // this process's ends; -1: closed
  Lines report_, words_;
  std::string last_words_;
  Quiet quiet_;
};

}  // namespace tandem::proof
