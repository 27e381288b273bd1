// A child process that may die or hang: its report, its last words, and how it ended.
//
// Contract
//   The program is started with posix_spawn: nothing of this process, its threads or its locks, is alive in the child,
//   whatever libraries are loaded here. Each line of its standard output goes to on_line; nothing is heard for
//   `silence`: it is killed, with everything it has started. Standard input is empty, and of the files that this
//   process has open the child gets none. Threads: the caller's, which waits; a wait of more than a second is said
//   (waits_for), and where the user asks to stop, the child is ended and Interrupted is thrown.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tandem::proof {

struct ChildEnd {
  bool well = false;       // it ended by itself with status 0
  bool by_others = false;  // a signal that people and systems send (SIGKILL for want of memory, SIGTERM, ...)
  bool starved = false;    // it gave no sign, and stood ready for a core for much of that time, or was stopped
  int status = -1;         // with which it ended by itself
  std::string how;         // "was ended by SIGABRT (Aborted)", "ended with status 3", "gave no sign for 60 s"
  std::string last_words;  // its last line on standard error
  std::string in_one() const { return last_words.empty() ? how : how + ": " + last_words; }
};

struct ChildTask {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // names and values in the place of this process's own
  std::chrono::seconds silence{60};
  std::string waits_for = "a child process";
};
ChildEnd run_child(const ChildTask& task, const std::function<void(const std::string&)>& on_line);

}  // namespace tandem::proof
