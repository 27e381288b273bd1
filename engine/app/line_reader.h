// Lines of a file or of standard input, as they come.
#pragma once

#include <string>

namespace tandem::app {

class LineReader {
 public:
  explicit LineReader(std::string path);  // "-": standard input. Error when it is a folder, or cannot be opened
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  enum class Found { line, none_yet, end };
  // The next line, without its end. may_wait: until there is one, or Ctrl-C; otherwise there may be none yet. A last
  // line may lack its end. Error when it cannot be read.
  Found next(std::string& line, bool may_wait);

 private:
  bool read_more(bool may_wait);
  std::string path_, buffer_;
  int descriptor_ = -1;
  bool is_own_ = false, at_end_ = false;
};

}  // namespace tandem::app
