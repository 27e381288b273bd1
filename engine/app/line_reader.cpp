#include "engine/app/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/app/interrupt.h"
#include "engine/app/text_input.h"
#include "sync/error.h"

namespace tandem::app {

LineReader::LineReader(std::string path) : path_(std::move(path)) {
  is_own_ = path_ != "-";
  if (is_own_) open_file(path_);  // says why it is none
  descriptor_ = is_own_ ? ::open(path_.c_str(), O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
  if (descriptor_ < 0) throw Error("cannot read the file", path_, std::strerror(errno));
}

LineReader::~LineReader() {
  if (is_own_) ::close(descriptor_);
}

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
    if (!read_more(may_wait)) return Found::none_yet;
  }
  if (!at_end_ || buffer_.empty()) return Found::end;
  line = std::exchange(buffer_, "");
  return Found::line;
}

// False: there is nothing yet, and nobody waits for it.
bool LineReader::read_more(bool may_wait) {
  pollfd ready{descriptor_, POLLIN, 0};
  if (!may_wait && ::poll(&ready, 1, 0) == 0) return false;
  std::array<char, 1 << 16> piece{};
  const ssize_t count = ::read(descriptor_, piece.data(), piece.size());
  if (count > 0) buffer_.append(piece.data(), static_cast<size_t>(count));
  if (count == 0) at_end_ = true;
  if (count < 0 && errno != EINTR) throw Error("cannot read the prompts", path_, std::strerror(errno));
  return true;
}

}  // namespace tandem::app
