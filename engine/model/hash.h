// A hash that notices damage and tells files apart; no protection against anybody who wants two to be equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tandem {

// Eight bytes at a time, so that a header with a large vocabulary costs less than a millisecond. The length counts too.
inline uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t hash = (seed ^ bytes.size()) * kOdd;
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, at + sizeof word <= bytes.size() ? sizeof word : bytes.size() - at);
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace tandem
