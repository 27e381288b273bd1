#include "engine/app/line_reader.h"

#include <array>
#include <utility>

#include "engine/app/interrupt.h"
#include "sync/long_wait.h"

namespace tandem::app {

// Returns lines from the buffer, and reads more when it has no complete line. `searched` keeps long lines from being
// searched again and again.
LineReader::Found LineReader::next(std::string& line, bool may_wait) {
  size_t searched = 0;
  for (;;) {
    const size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      line.assign(buffer_, 0, end);
      buffer_.erase(0, end + 1);
      return Found::line;
    }
    searched = buffer_.size();
    if (at_end_ || (may_wait && interrupted())) break;
    try {
      if (!read_more(may_wait)) return Found::none_yet;
    } catch (const Interrupted&) {
      break;
    }
  }
  // The file's last line needs no newline. An interruption drops a line that is not complete.
  if (!at_end_ || buffer_.empty()) return Found::end;
  line = std::exchange(buffer_, "");
  return Found::line;
}

// False: there is nothing to read yet, and the caller does not want to wait.
bool LineReader::read_more(bool may_wait) {
  if (!may_wait && !file_.has_something()) return false;
  std::array<char, 1 << 16> piece{};
  const size_t count = file_.read(piece);
  buffer_.append(piece.data(), count);
  at_end_ = count == 0;
  return true;
}

}  // namespace tandem::app
