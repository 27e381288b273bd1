#include "engine/model/file_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

FileMapping FileMapping::open(const std::string& path) {
  // Not blocking: opening a named pipe that nobody writes to would wait for ever.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    throw Error(std::string("cannot open the file: ") + std::strerror(errno), path,
                "check the path and its permissions");
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    throw Error(std::string("cannot examine the file: ") + std::strerror(errno), path);
  if (S_ISDIR(status.st_mode)) throw Error("expected a file, found a directory", path, "name a file inside it");
  if (!S_ISREG(status.st_mode)) throw Error("expected a regular file, found a device, pipe or socket", path);
  if (status.st_size == 0) throw Error("the file is empty", path, "download it again");
  const size_t size_bytes = static_cast<size_t>(status.st_size);
  void* base = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (base == MAP_FAILED) throw Error(std::string("cannot map the file into memory: ") + std::strerror(errno), path);
  const int64_t modified_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return FileMapping(static_cast<const std::byte*>(base), size_bytes, modified_ns);
}

FileMapping::FileMapping(FileMapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      modified_ns_(other.modified_ns_) {}

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(modified_ns_, other.modified_ns_);
  return *this;
}

FileMapping::~FileMapping() {
  if (base_ != nullptr) ::munmap(const_cast<std::byte*>(base_), size_bytes_);
}

// Hints: a system that ignores or refuses them reads the same bytes, only slower, so their result is not checked.
void FileMapping::expect_sequential_reads() const {
  ::madvise(const_cast<std::byte*>(base_), size_bytes_, MADV_SEQUENTIAL);
}

// A read maps the pages around it too, where they are in the page cache: 64 KB, or all of a large folio, which is at
// most 2 MiB and lies at a multiple of its size. Without dropping those as well a fifth of a model file stayed in
// memory, in pieces between what two threads had dropped.
void FileMapping::drop_pages(std::span<const std::byte> range) const {
  constexpr size_t kLargestFolio = size_t{2} << 20;
  const size_t first = static_cast<size_t>(range.data() - base_);
  const size_t begin = first / kLargestFolio * kLargestFolio;
  const size_t end = std::min(size_bytes_, (first + range.size() + kLargestFolio - 1) / kLargestFolio * kLargestFolio);
  ::madvise(const_cast<std::byte*>(base_) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace tandem
