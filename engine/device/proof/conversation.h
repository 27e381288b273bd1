// A child process that does one piece of work after another for this process, and may die of any of them.
//
// Contract: the child is started as run_child() starts one (child.h), with a pipe to its standard input. A question is
// its length (eight bytes) and its bytes, and an answer is one line. A child that exits with status 0 between two
// questions has not failed: the next question starts a new one. Threads: one. If the user asks to stop, the child is
// killed and Interrupted is thrown.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/device/proof/child.h"
#include "sync/long_wait.h"

namespace tandem::proof {

class ChildProcess;

class Conversation {
 public:
  explicit Conversation(ChildTask task);
  ~Conversation();  // closes the child's input, waits up to ten seconds for its end, then kills it
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  struct Answer {
    bool given = false;
    std::string line;
    ChildEnd end;  // how the child ended, if it gave no answer
  };
  // Error when no child can be started.
  Answer ask(std::string_view question);
  void begin_wait(std::string what);  // the next questions are a wait of their own, and its line names this
  void end();                         // kills the child at once

 private:
  Answer ask_once(std::string_view question);

  const ChildTask task_;
  std::unique_ptr<ChildProcess> child_;
  LongWait wait_;  // counts the waits of all questions since begin_wait()
};

}  // namespace tandem::proof
