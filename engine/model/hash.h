// A hash that notices damage and tells files apart. It does not resist anyone who constructs two files with one hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tandem {

// Takes eight bytes at a time, so that a header with a large vocabulary costs less than a millisecond. The
// length counts too.
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

// Runs as fast as memory is read: four hashes side by side. A change of any single byte always changes the hash.
inline uint64_t hash_much(std::span<const std::byte> bytes, uint64_t seed = 0) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  constexpr size_t kLanes = 4, kStep = kLanes * sizeof(uint64_t);
  uint64_t lanes[kLanes] = {seed, 1, 2, 3};
  size_t at = 0;
  for (; at + kStep <= bytes.size(); at += kStep) {
    uint64_t words[kLanes];
    std::memcpy(words, bytes.data() + at, kStep);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = (lanes[lane] ^ words[lane]) * kOdd;
      lanes[lane] ^= lanes[lane] >> 29;
    }
  }
  return hash_bytes(bytes.subspan(at), hash_bytes(std::as_bytes(std::span(lanes)), bytes.size()));
}

// A hash of some 64 blocks spread over the bytes. The first and the last block are among them.
inline uint64_t hash_sampled(std::span<const std::byte> bytes, uint64_t seed = 0) {
  constexpr size_t kBlocks = 64, kBlockBytes = 4096;
  if (bytes.size() <= kBlocks * kBlockBytes) return hash_bytes(bytes, seed);
  uint64_t hash = seed ^ bytes.size();
  const size_t last = bytes.size() - kBlockBytes;
  for (size_t i = 0; i < kBlocks; ++i) hash = hash_bytes(bytes.subspan(last / (kBlocks - 1) * i, kBlockBytes), hash);
  return hash_bytes(bytes.subspan(last), hash);
}

}  // namespace tandem
