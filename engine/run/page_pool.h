// Which pages of the KV cache are in use, and by how many sequences.
//
// Contract: bookkeeping alone, no memory is touched. Not thread-safe. Pages that nobody has are given out in no
// promised order; what they hold is what was last written there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem {

class PagePool {
 public:
  // Pages first, first + 1, ..., `count` of them.
  PagePool(int64_t first, int64_t count);

  int32_t take();              // a page that nobody has, with one user; Error: there is none
  void share(int32_t page);    // it has one user more
  void release(int32_t page);  // and one less; the last one leaves it free
  int64_t users(int32_t page) const { return users_[index_of(page)]; }
  int64_t free_pages() const { return static_cast<int64_t>(free_.size()); }
  int64_t pages() const { return static_cast<int64_t>(users_.size()); }

 private:
  size_t index_of(int32_t page) const;  // of its users
  int64_t first_;
  std::vector<int64_t> users_;
  std::vector<int32_t> free_;  // the last one is taken next
};

}  // namespace tandem
