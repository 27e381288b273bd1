// A child process that may die or hang: its report, its last words, and how it ended.
//
// Contract
//   The program is started with posix_spawn: nothing of this process, its threads or its locks, is alive in the child,
//   whatever libraries are loaded here. Each line of its standard output goes to on_line; nothing is heard for
//   `silence`: it is killed, with everything it has started. Standard input is empty. Threads: the caller's, which
//   waits.
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
  std::string how;         // "was ended by SIGABRT (Aborted)", "ended with status 3", "gave no sign for 60 s"
  std::string last_words;  // its last line on standard error
  std::string in_one() const { return last_words.empty() ? how : how + ": " + last_words; }
};

// environment: names and values that replace the ones of this process.
ChildEnd run_child(const std::string& program, const std::vector<std::string>& arguments,
                   const std::vector<std::pair<std::string, std::string>>& environment, std::chrono::seconds silence,
                   const std::function<void(const std::string&)>& on_line);

}  // namespace tandem::proof
