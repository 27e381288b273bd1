// A regular file, mapped read-only into memory.
//
// Contract: open() throws an Error unless the path is a readable, non-empty regular file. Owns the mapping; movable.
// The file may change while it is mapped. Then reads return other bytes, and zeros where pages are gone
// (sync/file_guard.h). require_unchanged() throws from then on. Callers check it before they pass on results that come
// from the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sync/file_guard.h"

struct stat;

namespace tandem {

// One state of a file: every write changes it.
struct FileStamp {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // of the content; of the content, its mode or its names; since 1970
  bool operator==(const FileStamp&) const = default;
};
FileStamp stamp_of(const struct stat& status);
FileStamp stamp_at(const std::string& path);  // Error where there is no file

[[noreturn]] void throw_file_changed(const std::string& path);

class FileMapping {
 public:
  static FileMapping open(const std::string& path);
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;
  ~FileMapping();

  std::span<const std::byte> bytes() const { return {base_, size_bytes_}; }
  const FileStamp& stamp() const { return stamp_; }  // of the file when it was opened
  // Error if the file was written to or cut since it was opened, or if a page could not be read. Renaming the file, or
  // replacing it by another one of its name, is no change.
  void require_unchanged() const;
  bool contains(const std::byte* place) const { return place >= base_ && place < base_ + size_bytes_; }
  void expect_sequential_reads() const;
  // Removes the pages of `range` (inside the mapping) from the process, and the pages around it that the system has
  // mapped with them. A later read maps them again.
  void drop_pages(std::span<const std::byte> range) const;

 private:
  FileMapping(std::string path, const std::byte* base, size_t size_bytes, const FileStamp& stamp);

  std::string path_;
  const std::byte* base_ = nullptr;
  size_t size_bytes_ = 0;
  FileStamp stamp_;
  FileGuard guard_;
};

}  // namespace tandem
