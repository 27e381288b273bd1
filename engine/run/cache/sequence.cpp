#include "tandem/sequence.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/device/operators/kv_cache.h"
#include "engine/run/cache/page_pool.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Takes pages until there are `count` in all, and returns one more if it is wanted. Takes none if there are too few.
int32_t take_pages(PagePool& pool, std::vector<int32_t>& pages, int64_t count, bool one_more) {
  const size_t before = pages.size();
  try {
    pages.reserve(static_cast<size_t>(count));
    while (std::ssize(pages) < count) pages.push_back(pool.take());
    return one_more ? pool.take() : 0;
  } catch (...) {
    for (; pages.size() > before; pages.pop_back()) pool.release(pages.back());
    throw;
  }
}

}  // namespace

// Gives its own pages back to their pool before it receives the other's pages and pool.
Sequence& Sequence::operator=(Sequence&& other) noexcept {
  if (this == &other) return *this;
  rewind(0);
  pool_ = std::move(other.pool_);
  ids_ = std::exchange(other.ids_, {});
  pages_ = std::exchange(other.pages_, {});
  drafts_ = std::exchange(other.drafts_, {});
  return *this;
}

// Shares the pages of the common tokens instead of copying them. The first sequence that writes to a shared page
// exchanges it (make_room()).
Sequence Sequence::fork(int64_t position) const {
  TANDEM_CHECK(position >= 0 && position <= this->position(), "a fork begins with tokens that there are");
  Sequence other(pool_);
  other.ids_.assign(ids_.begin(), ids_.begin() + position);
  other.pages_.assign(pages_.begin(), pages_.begin() + pages_of(position));
  for (const int32_t page : other.pages_) pool_->share(page);
  return other;
}

// Pages behind the new end go back to the pool. The last page stays, even if only a part of it is in use.
void Sequence::rewind(int64_t position) {
  TANDEM_CHECK(position >= 0 && position <= this->position(), "a sequence can only be shortened");
  drafts_ = {};
  ids_.resize(static_cast<size_t>(position));
  while (std::ssize(pages_) > pages_of(position)) {
    pool_->release(pages_.back());
    pages_.pop_back();
  }
}

// A page that another sequence shares is exchanged for a new one before tokens are written to it.
std::optional<Sequence::PageCopy> Sequence::make_room(int64_t count) {
  TANDEM_CHECK(count > 0, "room for no tokens");
  drafts_ = {};                                                  // the new tokens take the places of the tree
  const auto at = static_cast<size_t>(position() / kCachePage);  // the page of the first new token
  const bool is_shared = at < pages_.size() && pool_->users(pages_[at]) > 1;
  // Everything that may fail comes first, because an exchanged page has no content until the caller copies it.
  const size_t tokens = ids_.size() + static_cast<size_t>(count);
  if (tokens > ids_.capacity()) ids_.reserve(std::max(tokens, 2 * ids_.capacity()));
  const int32_t own = take_pages(*pool_, pages_, pages_of(position() + count), is_shared);
  if (!is_shared) return std::nullopt;
  const PageCopy copy{pages_[at], own};
  pool_->release(std::exchange(pages_[at], own));
  if (position() % kCachePage == 0) return std::nullopt;  // nothing on that page belongs to this sequence
  return copy;
}

void Sequence::append(std::span<const int32_t> ids) {
  TANDEM_CHECK(pages_of(position() + std::ssize(ids)) <= std::ssize(pages_), "there is room for what is appended");
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  drafts_ = {};
}

void Sequence::draft(DraftTree tree) {
  TANDEM_CHECK(pages_of(position() + std::ssize(tree.ids)) <= std::ssize(pages_), "there is room for a tree");
  drafts_ = std::move(tree);
}

}  // namespace tandem
