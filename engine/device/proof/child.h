// Runs a child process that may die or hang, and reports its output, its last words and how it ended.
//
// Contract
//   The program is started with posix_spawn, so the child inherits no thread and no lock of this process or its
//   libraries.
//   Each line of its standard output goes to on_line. A child that writes no line for `silence` is killed, with every
//   process of its group.
//   Its standard input is empty, and it inherits no file that this process has open. Error when the program cannot
//   be started.
//   Threads: run_child() blocks the calling thread until the child has ended. After a second it announces its wait
//   (waits_for). If the user asks to stop, it kills the child and throws Interrupted.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tandem::proof {

struct ChildEnd {
  bool well = false;       // the child exited with status 0
  bool by_others = false;  // killed by a signal that users and systems send (SIGKILL for want of memory, SIGTERM, ...)
  bool starved = false;    // silent while one of its threads waited for a core or the disk, or was stopped
  int status = -1;         // its exit status; -1: a signal ended it
  std::string how;         // "was ended by SIGABRT (Aborted)", "ended with status 3", "gave no sign for 60 s"
  std::string last_words;  // its last line on standard error that is not blank
  std::string in_one() const { return last_words.empty() ? how : how + ": " + last_words; }
};

struct ChildTask {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // names and values that replace this process's own
  std::chrono::seconds silence{60};
  std::string waits_for = "a child process";
};
ChildEnd run_child(const ChildTask& task, const std::function<void(const std::string&)>& on_line);

}  // namespace tandem::proof
