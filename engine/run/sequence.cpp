#include "engine/run/sequence.h"

#include <string>
#include <utility>

#include "engine/device/operators/kv_cache.h"
#include "sync/error.h"

namespace tandem {

Sequence& Sequence::operator=(Sequence&& other) noexcept {
  if (this == &other) return *this;
  rewind(0);
  pool_ = std::move(other.pool_);
  ids_ = std::exchange(other.ids_, {});
  pages_ = std::exchange(other.pages_, {});
  drafts_ = std::exchange(other.drafts_, {});
  return *this;
}

Sequence Sequence::fork(int64_t position) const {
  TANDEM_CHECK(position >= 0 && position <= this->position(), "a fork begins with tokens that there are");
  Sequence other(pool_);
  other.ids_.assign(ids_.begin(), ids_.begin() + position);
  other.pages_.assign(pages_.begin(), pages_.begin() + pages_of(position));
  for (const int32_t page : other.pages_) pool_->share(page);
  return other;
}

void Sequence::rewind(int64_t position) {
  TANDEM_CHECK(position >= 0 && position <= this->position(), "a sequence can only be shortened");
  drafts_ = {};
  ids_.resize(static_cast<size_t>(position));
  while (std::ssize(pages_) > pages_of(position)) {
    pool_->release(pages_.back());
    pages_.pop_back();
  }
}

std::optional<Sequence::PageCopy> Sequence::make_room(int64_t count) {
  TANDEM_CHECK(count > 0, "room for no tokens");
  drafts_ = {};  // what comes lies where they do
  std::optional<PageCopy> copy;
  const auto at = static_cast<size_t>(position() / kCachePage);  // the page of the first of them
  if (at < pages_.size() && pool_->users(pages_[at]) > 1) {
    copy = PageCopy{pages_[at], pool_->take()};
    pool_->release(std::exchange(pages_[at], copy->to));
    if (position() % kCachePage == 0) copy.reset();  // nothing of it is this sequence's
  }
  while (std::ssize(pages_) < pages_of(position() + count)) pages_.push_back(pool_->take());
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
