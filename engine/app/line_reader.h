// Lines of a file or of standard input, as they come.
#pragma once

#include <string>

#include "engine/app/input_file.h"

namespace tandem::app {

class LineReader {
 public:
  explicit LineReader(const std::string& path) : file_(path) {}

  enum class Found { line, none_yet, end };
  // The next line, without its end. may_wait: until there is one, or Ctrl-C; otherwise there may be none yet. A last
  // line may lack its end. Error when it cannot be read.
  Found next(std::string& line, bool may_wait);

 private:
  bool read_more(bool may_wait);
  InputFile file_;
  std::string buffer_;
  bool at_end_ = false;
};

}  // namespace tandem::app
