// A regular file, mapped read-only into memory.
//
// Contract: open() is an Error for whatever is no readable, non-empty regular file. Owns the mapping; movable. The file
// must not shrink while it is mapped (the system kills a process that reads past the new end).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tandem {

class FileMapping {
 public:
  static FileMapping open(const std::string& path);
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;
  ~FileMapping();

  std::span<const std::byte> bytes() const { return {base_, size_bytes_}; }
  int64_t modified_ns() const { return modified_ns_; }  // of the file when it was opened, since 1970
  bool contains(const std::byte* place) const { return place >= base_ && place < base_ + size_bytes_; }
  void expect_sequential_reads() const;
  // Takes every page that holds one of `range` (inside the mapping) out of the process, and those around it that the
  // system has mapped with them; a later read maps them again.
  void drop_pages(std::span<const std::byte> range) const;

 private:
  FileMapping(const std::byte* base, size_t size_bytes, int64_t modified_ns)
      : base_(base), size_bytes_(size_bytes), modified_ns_(modified_ns) {}
  const std::byte* base_ = nullptr;
  size_t size_bytes_ = 0;
  int64_t modified_ns_ = 0;
};

}  // namespace tandem
