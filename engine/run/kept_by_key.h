// A few things that are costly to make, by what they were made for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tandem {

// Of more than `most` the one goes that was not asked for longest. References are good until the next add() or erasing.
template <typename Key, typename Value>
class KeptByKey {
 public:
  explicit KeptByKey(size_t most) : most_(most) {}

  Value* find(const Key& key) {  // nullptr: there is none
    const auto found = std::ranges::find(kept_, key, &Entry::first);
    if (found == kept_.end()) return nullptr;
    std::rotate(found, found + 1, kept_.end());
    return &kept_.back().second;
  }
  // Under a key that is not there yet. gone: takes what has to go for it.
  template <typename Gone>
  Value& add(Key key, Value value, const Gone& gone) {
    if (kept_.size() == most_) {
      gone(std::move(kept_.front().second));
      kept_.erase(kept_.begin());
    }
    return kept_.emplace_back(std::move(key), std::move(value)).second;
  }
  template <typename Outdated>
  void erase_if(const Outdated& outdated) {
    std::erase_if(kept_, [&](const Entry& entry) { return outdated(entry.second); });
  }
  void clear() { kept_.clear(); }
  size_t size() const { return kept_.size(); }

 private:
  using Entry = std::pair<Key, Value>;
  const size_t most_;
  std::vector<Entry> kept_;  // most recently used last
};

}  // namespace tandem
