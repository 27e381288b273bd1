// Memory for the loops over packed weights: arrays that begin at a cache line.
//
// Contract: the owner frees the array. Its elements are trivial, and hold nothing that counts at first. std::bad_alloc
// if there is no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

namespace tandem {

inline constexpr size_t kCacheLineBytes = 64;

struct AlignedDelete {
  void operator()(void* array) const { ::operator delete[](array, std::align_val_t(kCacheLineBytes)); }
};
template <typename T>
using AlignedArray = std::unique_ptr<T[], AlignedDelete>;

template <typename T>
AlignedArray<T> aligned_array(int64_t count) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>, "nothing is constructed");
  const size_t bytes = static_cast<size_t>(count) * sizeof(T);
  return AlignedArray<T>(static_cast<T*>(::operator new[](bytes, std::align_val_t(kCacheLineBytes))));
}

}  // namespace tandem
