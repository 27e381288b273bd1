// A child process with pipes to it, the common part of run_child() and Conversation.
//
// Contract: the child is started with posix_spawn in a process group of its own. It has no open file of this process
// except its standard ones, no blocked signal and no signal handler. The destructor kills the child and every process
// of its group. Threads: one.
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

// Cuts a stream that arrives in pieces into lines.
class Lines {
 public:
  // False: the stream has ended.
  bool read_from(int file, const std::function<void(const std::string&)>& on_line);
  // Passes on the text behind the last line break.
  void finish(const std::function<void(const std::string&)>& on_line);

 private:
  std::string rest_;
};

// How long the child has been silent, summed over the times between two looks. A longer time counts as one second. In
// it, this process was stopped (Ctrl-Z, a debugger, a machine that sleeps) and could not hear the child.
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
  // asked: a pipe leads to the child's standard input. Otherwise that input is empty. Error when the child cannot
  // be started.
  ChildProcess(const ChildTask& task, bool asked);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Waits at most kLookEvery and reads what has arrived. False: the child's standard output has ended.
  bool listen(const std::function<void(const std::string&)>& on_line);
  // False: the child reads no more, or is silent for too long. Throws Interrupted if the user asks to stop.
  bool write(std::string_view bytes, LongWait& wait);
  void close_input();
  // The child has been silent for longer than its task allows.
  bool is_silent() {
    quiet_.look(Clock::now());
    return quiet_.time() > silence_;
  }
  void is_heard() { quiet_.end(Clock::now()); }

  // Waits for the child's end, kills it if it is silent for too long, and describes how it ended. Throws Interrupted if
  // the user asks to stop.
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
