// Reads what is said in a chat: messages and commands of one or more lines, of a person or through a pipe.
//
// Contract: a line that ends with \ continues on the next one, and lines between """ and """ are one message. Ctrl-C of
// a person drops what is typed so far. Threads: one.
#pragma once

#include <memory>
#include <string>

#include "engine/app/line_editor.h"
#include "engine/app/line_reader.h"

namespace tandem::app {

class MessageReader {
 public:
  MessageReader();
  bool are_typed() const { return editor_ != nullptr; }  // by a person on a terminal
  // False: there is none, because the input has ended or the program is asked to stop.
  bool next(std::string& text);

 private:
  enum class Part { whole, unfinished, dropped, none };
  bool next_line(const char* prompt, std::string& line);
  Part read_part(std::string& text);
  Part add(std::string& text, std::string line);
  LineReader lines_;                    // of a file or a program
  std::unique_ptr<LineEditor> editor_;  // of a person; null: there is none
  bool in_quotes_ = false;
};

}  // namespace tandem::app
