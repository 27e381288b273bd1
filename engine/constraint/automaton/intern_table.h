// Gives equal values equal numbers: a hash table of numbers whose values the caller keeps.
//
// Contract: the caller compares, and adds a number only if find() did not know its value. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::constraint {

// One more value for a hash (the mixing step of SplitMix64).
inline uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) + 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

class InternTable {
 public:
  // The number whose value has this hash and for which equal(number) is true; -1: there is none.
  template <typename Equal>
  int32_t find(uint64_t hash, const Equal& equal) const {
    if (slots_.empty()) return -1;
    for (size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].number < 0) return -1;
      if (slots_[i].hash == hash && equal(slots_[i].number)) return slots_[i].number;
    }
  }
  void add(uint64_t hash, int32_t number) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    put({hash, number});
    ++used_;
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    int32_t number = -1;
  };
  void put(const Slot& slot) {
    size_t i = slot.hash & (slots_.size() - 1);
    while (slots_[i].number >= 0) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number >= 0) put(slot);
  }
  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace tandem::constraint
