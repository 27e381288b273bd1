// A file by its descriptor, with locks and exact lengths. The standard's streams have neither.
#include "engine/run/serve/plain_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sync/error.h"
#include "sync/file_lock.h"

namespace tandem {

// A FIFO would block without O_NONBLOCK.
PlainFile::PlainFile(std::string path, int flags, std::string thing)
    : path_(std::move(path)),
      thing_(std::move(thing)),
      descriptor_(open(path_.c_str(), flags | O_CLOEXEC | O_NONBLOCK, S_IRUSR | S_IWUSR)) {}

PlainFile::~PlainFile() {
  if (is_open()) close(descriptor_);
}

bool PlainFile::is_plain() const {
  struct stat status {};
  return is_open() && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
}

void PlainFile::lock(int operation) const {
  if (!lock_file(descriptor_, operation, "another process that uses " + path_)) fail("lock");
}

// Whether the path still leads to this file. Another process may have replaced it while this one waited for a lock.
bool PlainFile::is_current() const {
  struct stat own {
  }, named{};
  return fstat(descriptor_, &own) == 0 && stat(path_.c_str(), &named) == 0 && own.st_ino == named.st_ino &&
         own.st_dev == named.st_dev;
}

size_t PlainFile::size() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) fail("read");
  return static_cast<size_t>(status.st_size);
}

// Reads at fixed places, so the descriptor's own position plays no part.
std::vector<std::byte> PlainFile::first(size_t count) const {
  std::vector<std::byte> bytes(count);
  size_t done = 0;
  while (done < count) {
    const ssize_t some = pread(descriptor_, bytes.data() + done, count - done, static_cast<off_t>(done));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) fail("read");
    if (some == 0) break;
    done += static_cast<size_t>(some);
  }
  bytes.resize(done);
  return bytes;
}

// If a part cannot be written, the file is cut back to where the write began. So a full disk leaves no half record.
void PlainFile::write_at(size_t begin, std::span<const std::byte> bytes) const {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t some =
        pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin + done));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) {
      const int reason = some < 0 ? errno : ENOSPC;
      cut_at(begin);
      errno = reason;
      fail("write");
    }
    done += static_cast<size_t>(some);
  }
}

void PlainFile::cut_at(size_t size) const {
  if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("write");
}

void PlainFile::set_mode(unsigned mode) const {
  if (fchmod(descriptor_, mode) != 0) fail("protect");
}

void PlainFile::fail(const char* what) const {
  throw Error("cannot " + std::string(what) + " the " + thing_, path_, std::strerror(errno));
}

}  // namespace tandem
