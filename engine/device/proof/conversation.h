// A child process that does one piece of work after the other for this one, and may die of any.
//
// Contract: started as run_child() starts one (child.h), with a pipe to its standard input: each question is its
// length, eight bytes, and so many bytes; each answer is a line. A child that ends by itself with status 0 between two
// questions is no failure: it is started anew for the next one. Threads: one. Interrupted where the user asks to stop;
// the child is ended then, as it is by the destructor.
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
  ~Conversation();  // closes its input, and lets it end by itself
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  struct Answer {
    bool given = false;
    std::string line;
    ChildEnd end;  // where none was given: how the child ended
  };
  // Error where no child can be started.
  Answer ask(std::string_view question);
  void end();  // at once

 private:
  Answer ask_once(std::string_view question);

  const ChildTask task_;
  std::unique_ptr<ChildProcess> child_;
  LongWait wait_;  // of all questions together
};

}  // namespace tandem::proof
