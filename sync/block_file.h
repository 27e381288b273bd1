// A file whose blocks are read from storage, past the system's page cache where the file system allows it.
//
// Contract
//   Ownership: opens the file again, so the caller may close its descriptor and rename the file.
//   Errors: the constructor throws when the file cannot be opened again.
//   Threads: any, at the same time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sync/error.h"

namespace tandem::sync {

// Address, offset and length are multiples of 4096.
struct BlockRead {
  uint64_t offset = 0;
  std::byte* to = nullptr;
  size_t bytes = 0;
};

inline constexpr const char* kTooShort = "it is too short";

class BlockFile {
 public:
  // file: an open descriptor of it. path: for messages.
  BlockFile(int file, std::string path);
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  int descriptor() const { return file_; }
  bool past_page_cache() const { return direct_; }
  // The file system refused to read past its page cache (EINVAL). Whether a read may be tried again, through the cache.
  bool leave_direct();
  // Drops the pages of a block that was read through the page cache.
  void drop_pages(const BlockRead& block) const;
  Error failure(const BlockRead& block, const std::string& why) const;

 private:
  const std::string path_;
  int file_ = -1;
  std::atomic<bool> direct_{true};
};

}  // namespace tandem::sync
