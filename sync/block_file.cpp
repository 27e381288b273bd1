#include "sync/block_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tandem::sync {

// A second descriptor of the same file, whatever its name is by now. Without /proc it is a copy of the caller's, whose
// mode cannot change, and blocks are read through the page cache.
BlockFile::BlockFile(int file, std::string path) : path_(std::move(path)) {
  const std::string same = "/proc/self/fd/" + std::to_string(file);
  // Its own descriptor can read directly, while the caller's keeps its mode.
  file_ = ::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (file_ < 0) {
    direct_ = false;
    file_ = ::open(same.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (file_ < 0) file_ = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (file_ < 0) throw Error(std::string("cannot open a file again (") + std::strerror(errno) + ")", path_);
}

BlockFile::~BlockFile() { ::close(file_); }

// A file system that opens a file without its page cache may still refuse to read it so.
bool BlockFile::leave_direct() {
  if (!direct_.exchange(false)) return false;
  const int flags = ::fcntl(file_, F_GETFL);
  return flags >= 0 && ::fcntl(file_, F_SETFL, flags & ~O_DIRECT) == 0;
}

// The caller has the block in its own memory, so the pages would be a second copy that pushes out those
// of other programs.
void BlockFile::drop_pages(const BlockRead& block) const {
  if (!direct_)
    ::posix_fadvise(file_, static_cast<off_t>(block.offset), static_cast<off_t>(block.bytes), POSIX_FADV_DONTNEED);
}

Error BlockFile::failure(const BlockRead& block, const std::string& why) const {
  return Error("cannot read a block of a file (" + why + ")",
               path_ + ": " + std::to_string(block.bytes) + " bytes at " + std::to_string(block.offset));
}

}  // namespace tandem::sync
