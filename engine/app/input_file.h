// A file, a FIFO or standard input that is read piece by piece. No wait for its writer is deaf to Ctrl-C and TERM, and
// one of more than a second is said (sync/long_wait.h).
//
// Contract: Error when the file is a folder, or cannot be opened or read. Interrupted when the user asked to stop while
// there was nothing to read. Threads: one at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sync/long_wait.h"

namespace tandem::app {

class InputFile {
 public:
  explicit InputFile(const std::string& path);  // "-": standard input. A FIFO need not have a writer yet
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& name() const { return name_; }  // the path, or "standard input"
  bool has_something();                              // read() would not wait: bytes are there, or the end
  size_t read(std::span<char> room);                 // waits for at least one byte; 0: the end

 private:
  void await();
  [[noreturn]] void fail() const;
  const bool is_own_;
  const std::string name_;
  int descriptor_ = -1;
  LongWait wait_;
};

}  // namespace tandem::app
