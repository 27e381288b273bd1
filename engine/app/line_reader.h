// Reads lines of a file or of standard input, as they come.
#pragma once

#include <string>

#include "engine/app/input_file.h"

namespace tandem::app {

class LineReader {
 public:
  explicit LineReader(const std::string& path) : file_(path) {}
  void expect_person() { file_.expect_person(); }

  enum class Found { line, none_yet, end };
  // The next line, without its end. may_wait: waits for a line, until Ctrl-C. Otherwise it may return none_yet. The
  // last line may lack its newline. Error when the file cannot be read.
  Found next(std::string& line, bool may_wait);

 private:
  bool read_more(bool may_wait);
  InputFile file_;
  std::string buffer_;
  bool at_end_ = false;
};

}  // namespace tandem::app
