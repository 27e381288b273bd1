// A small cache with a fixed capacity that evicts the least recently used entry.
//
// Contract: keys are compared one by one, so it is meant for some tens of entries. Ownership: it holds its values.
// References and pointers stay valid until the next add(), find(), erase_if() or clear(). Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tandem {

template <typename Key, typename Value>
class LruCache {
 public:
  explicit LruCache(size_t capacity) : capacity_(capacity) {}  // 1 and more

  // The entry becomes the most recently used one. nullptr: there is none.
  Value* find(const Key& key) {
    const auto found = std::ranges::find(entries_, key, &Entry::first);
    if (found == entries_.end()) return nullptr;
    std::rotate(found, found + 1, entries_.end());
    return &entries_.back().second;
  }
  // The key must not be present. on_evict: takes the value of the evicted entry, if one is evicted.
  template <typename OnEvict>
  Value& add(Key key, Value value, const OnEvict& on_evict) {
    if (entries_.size() == capacity_) {
      on_evict(std::move(entries_.front().second));
      entries_.erase(entries_.begin());
    }
    return entries_.emplace_back(std::move(key), std::move(value)).second;
  }
  template <typename Predicate>
  void erase_if(const Predicate& predicate) {
    std::erase_if(entries_, [&](const Entry& entry) { return predicate(entry.second); });
  }
  void clear() { entries_.clear(); }
  size_t size() const { return entries_.size(); }

 private:
  using Entry = std::pair<Key, Value>;
  const size_t capacity_;
  std::vector<Entry> entries_;  // the most recently used one last
};

}  // namespace tandem
