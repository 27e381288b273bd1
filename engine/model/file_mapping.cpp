#include "engine/model/file_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sync/descriptor.h"
#include "sync/error.h"

namespace tandem {
namespace {

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

FileStamp stamp_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size), nanoseconds(status.st_mtim),
          nanoseconds(status.st_ctim)};
}

FileStamp stamp_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw Error(std::string("cannot examine the file: ") + std::strerror(errno), path);
  return stamp_of(status);
}

void throw_file_changed(const std::string& path) {
  throw Error("the file changed or could not be read while it was in use", path,
              "Start again when nobody writes to it and its disk can be read");
}

// Maps a regular file for reading. A pipe or a device is refused by its kind, because a mapping of it would fail later
// and less clearly.
FileMapping FileMapping::open(const std::string& path) {
  // The descriptor is closed at the end, also after an Error; a mapping stays valid without it. Non-blocking, because
  // opening a named pipe without a writer would wait for ever.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    throw Error(std::string("cannot open the file: ") + std::strerror(errno), path,
                "check the path and its permissions");
  }
  // The stamp is taken from the descriptor. So it belongs to the mapped file even if another file gets the
  // path meanwhile.
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    throw Error(std::string("cannot examine the file: ") + std::strerror(errno), path);
  if (S_ISDIR(status.st_mode)) throw Error("expected a file, found a directory", path, "name a file inside it");
  if (!S_ISREG(status.st_mode)) throw Error("expected a regular file, found a device, pipe or socket", path);
  if (status.st_size == 0) throw Error("the file is empty", path, "download it, or save it, again");
  const size_t size_bytes = static_cast<size_t>(status.st_size);
  void* base = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (base == MAP_FAILED) throw Error(std::string("cannot map the file into memory: ") + std::strerror(errno), path);
  return FileMapping(path, static_cast<const std::byte*>(base), size_bytes, stamp_of(status));
}

FileMapping::FileMapping(std::string path, const std::byte* base, size_t size_bytes, const FileStamp& stamp)
    : path_(std::move(path)), base_(base), size_bytes_(size_bytes), stamp_(stamp), guard_({base, size_bytes}, false) {}

FileMapping::FileMapping(FileMapping&& other) noexcept
    : path_(std::move(other.path_)),
      base_(std::exchange(other.base_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      stamp_(other.stamp_),
      guard_(std::move(other.guard_)) {}

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(base_, other.base_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(stamp_, other.stamp_);
  std::swap(guard_, other.guard_);
  return *this;
}

FileMapping::~FileMapping() {
  // The guard ends before its pages are unmapped.
  guard_ = FileGuard();
  if (base_ != nullptr) ::munmap(const_cast<std::byte*>(base_), size_bytes_);
}

// Only a change of the mapped file counts. A file that was renamed, or replaced by another one of its name, still has
// the same bytes in the mapping.
void FileMapping::require_unchanged() const {
  if (guard_.lost()) throw_file_changed(path_);
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return;  // the name is gone, but the bytes are still there
  const FileStamp now = stamp_of(status);
  if (now.device != stamp_.device || now.inode != stamp_.inode) return;
  if (now.bytes != stamp_.bytes || now.modified_ns != stamp_.modified_ns) throw_file_changed(path_);
}

// Only hints. A system that ignores or refuses them reads the same bytes, only slower, so the results are not checked.
void FileMapping::expect_sequential_reads() const {
  ::madvise(const_cast<std::byte*>(base_), size_bytes_, MADV_SEQUENTIAL);
}

// A read also maps the pages around it that are in the page cache: 64 KB, or a whole large folio. A folio is at most 2
// MiB and lies at a multiple of its size. So they are dropped too. Otherwise a fifth of a model file stayed in
// memory, in pieces between what two threads had dropped.
void FileMapping::drop_pages(std::span<const std::byte> range) const {
  constexpr size_t kLargestFolio = size_t{2} << 20;
  const size_t first = static_cast<size_t>(range.data() - base_);
  const size_t begin = first / kLargestFolio * kLargestFolio;
  const size_t end = std::min(size_bytes_, (first + range.size() + kLargestFolio - 1) / kLargestFolio * kLargestFolio);
  ::madvise(const_cast<std::byte*>(base_) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace tandem
