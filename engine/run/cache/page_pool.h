// Counts how many sequences use each page of the KV cache.
//
// Contract: bookkeeping only, no memory is touched. Free pages are handed out in no particular order. A page holds what
// was last written there. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem {

class PagePool {
 public:
  explicit PagePool(int64_t count);  // pages 0 to count - 1

  int32_t take();              // returns a free page, which then has one user; Error: no page is free
  void share(int32_t page);    // adds a user
  void release(int32_t page);  // removes a user; a page without users is free
  int64_t users(int32_t page) const { return users_[index_of(page)]; }
  int64_t free_pages() const { return static_cast<int64_t>(free_.size()); }
  int64_t pages() const { return static_cast<int64_t>(users_.size()); }

 private:
  size_t index_of(int32_t page) const;  // in users_
  std::vector<int64_t> users_;
  std::vector<int32_t> free_;  // take() returns the last one
};

}  // namespace tandem
