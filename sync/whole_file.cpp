#include "sync/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "sync/error.h"

namespace tandem {

// The file is written under a name of the process's own, and gets its own name when it is whole.
WholeFile::WholeFile(std::string path)
    : path_(std::move(path)),
      temporary_(path_ + ".part" + std::to_string(getpid())),
      out_(temporary_, std::ios::binary | std::ios::trunc) {
  if (!out_) fail();
}

WholeFile::~WholeFile() {
  if (out_.is_open()) out_.close();
  std::remove(temporary_.c_str());  // after commit() the file has another name and stays
}

// Reads errno first, because removing the temporary may change it.
void WholeFile::fail() const {
  const std::string reason = std::strerror(errno);
  std::remove(temporary_.c_str());
  throw Error("cannot write a file (" + reason + ")", path_, "Check the folder and the space on the disk");
}

void WholeFile::write(std::span<const std::byte> bytes) {
  if (!out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) fail();
}

void WholeFile::rewrite_begin(std::span<const std::byte> bytes) {
  if (!out_.seekp(0)) fail();
  write(bytes);
}

// The rename is one step: readers find the former file or the whole new one.
void WholeFile::commit() {
  out_.close();
  if (!out_ || std::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
}

void write_whole_file(const std::string& path, std::string_view content) {
  WholeFile file(path);
  file.write(std::as_bytes(std::span(content)));
  file.commit();
}

// Uses the system's own calls. A stream looks at the path three times more, and contention on the cores is read from
// about ten small files for every measured pass.
std::optional<std::string> read_file_if_there(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // does not wait for a FIFO's writer
  if (file < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  struct stat kind = {};
  if (file >= 0 && fstat(file, &kind) == 0 && !S_ISREG(kind.st_mode) && !S_ISDIR(kind.st_mode)) {
    close(file);
    throw Error("cannot read a file (it is a device, a pipe or a socket)", path);
  }
  const auto refuse_large = [&] {
    close(file);
    throw Error("cannot read a file (it has more than " + std::to_string(kMostReadBytes >> 20) + " MiB)", path);
  };
  if (S_ISREG(kind.st_mode) && kind.st_size > static_cast<off_t>(kMostReadBytes)) refuse_large();
  std::string content;
  std::array<char, 4096> piece;
  // Stays -1 if the file could not be opened, so one check below reports both failures.
  ssize_t got = -1;
  while (file >= 0 && (got = read(file, piece.data(), piece.size())) > 0) {
    content.append(piece.data(), static_cast<size_t>(got));
    if (content.size() > kMostReadBytes) refuse_large();  // it has grown meanwhile
  }
  // Reads errno first, because close() may change it.
  const std::string reason = std::strerror(errno);
  if (file >= 0) close(file);
  if (got < 0) throw Error("cannot read a file (" + reason + ")", path);
  return content;
}

}  // namespace tandem
