// Reads lines that a person types on a terminal, with editing and a history of this run (libedit).
//
// Contract: standard input is a terminal. Prompts and edits go to standard error, so standard output has answers alone.
// A build without libedit reads plain lines. Threads: one.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace tandem::app {

class LineEditor {
 public:
  struct State;
  LineEditor();
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line, without its end. Nothing: Ctrl-D at its beginning, the end of the terminal, or Ctrl-C.
  std::optional<std::string> next(const std::string& prompt);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace tandem::app
