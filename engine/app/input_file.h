// A file, a FIFO or standard input that is read piece by piece. Waits for its writer react to Ctrl-C and TERM. A wait
// of more than a second is reported (sync/long_wait.h).
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
  explicit InputFile(const std::string& path);  // "-": standard input. A FIFO may have no writer yet
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& name() const { return name_; }  // the path, or "standard input"
  void expect_person() { is_persons_ = true; }       // who may take long: waits are not reported
  bool has_something();               // whether read() returns at once: bytes are there, or the end is reached
  size_t read(std::span<char> room);  // waits for at least one byte; 0: the end

 private:
  void await();
  [[noreturn]] void fail() const;
  const bool is_own_;
  const std::string name_;
  int descriptor_ = -1;
  bool is_persons_ = false;
  LongWait wait_;
};

}  // namespace tandem::app
