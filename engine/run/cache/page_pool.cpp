// Numbers of pages and how many sequences use each. The memory itself belongs to the cache.
#include "engine/run/cache/page_pool.h"

#include <string>

#include "sync/error.h"

namespace tandem {

// The free pages are a stack with the lowest number on top, so the first pages are used first.
PagePool::PagePool(int64_t count) : users_(static_cast<size_t>(count), 0) {
  for (int64_t page = count; page-- > 0;) free_.push_back(static_cast<int32_t>(page));
}

int32_t PagePool::take() {
  if (free_.empty())
    throw Error("the KV cache has no free page", "all " + std::to_string(pages()) + " are in use",
                "Let go of a sequence first, or open the engine for more of them");
  const int32_t page = free_.back();
  free_.pop_back();
  users_[index_of(page)] = 1;
  return page;
}

void PagePool::share(int32_t page) {
  TANDEM_CHECK(users(page) > 0, "a page that nobody has cannot be shared");
  ++users_[index_of(page)];
}

// Sequences that share a prefix share its pages. So a page becomes free only when its last user releases it.
void PagePool::release(int32_t page) {
  TANDEM_CHECK(users(page) > 0, "a page is given back by one who has it");
  if (--users_[index_of(page)] == 0) free_.push_back(page);
}

size_t PagePool::index_of(int32_t page) const {
  TANDEM_CHECK(page >= 0 && page < pages(), "a page of the pool: " + std::to_string(page));
  return static_cast<size_t>(page);
}

}  // namespace tandem
