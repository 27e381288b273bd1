// The layout that the harness and both sides of a litmus test share: the places of words and the bits of a result.
// kernels/litmus.cl and shaders/litmus.comp have the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/device/lab/litmus.h"

namespace tandem::litmus {

constexpr uint32_t kLineWords = 16, kMostLines = 64;
constexpr uint32_t kBroken = 4;      // LitmusTest of a broken test minus kBroken = the test that it breaks
constexpr uint32_t kAdditions = 32;  // additions of each side to its word (false sharing)
// Pauses, in looks on the host. lavapipe's looks take ten times as long, so it makes fewer of them. Pauses have all
// sizes up to a microsecond, because a read of the other side's data takes as long.
constexpr uint32_t kBrokenPause = 1024;    // looks between the flag and its data
constexpr uint32_t kLongestPauseBits = 9;  // before an instance

// Bits of a result.
constexpr uint32_t kFlagNew = 1, kDataNew = 2, kMet = 4, kCameWhileWaiting = 8, kNeverCame = 16;
constexpr uint32_t kOldLinesShift = 16;

// Lines 0 and 1: the progress of each side. Lines 2 to 17: results. The instances follow.
constexpr uint32_t kFirstInstanceLine = 18;
constexpr uint32_t progress_word(uint32_t side) { return side * kLineWords; }
constexpr uint32_t result_word(uint32_t side, uint32_t instance) { return (2 + side * 8) * kLineWords + instance; }
constexpr uint32_t lines_of_instance(LitmusTest kind) { return kind == LitmusTest::many_lines ? 1 + kMostLines : 2; }
constexpr uint32_t instance_word(LitmusTest kind, uint32_t instance) {
  return (kFirstInstanceLine + instance * lines_of_instance(kind)) * kLineWords;
}
static_assert(result_word(1, kLitmusInstances) <= kFirstInstanceLine * kLineWords);
constexpr size_t kBytes = instance_word(LitmusTest::many_lines, kLitmusInstances) * sizeof(uint32_t);

// A hash of 32 bits, for pauses and numbers of lines.
constexpr uint32_t mixed(uint32_t x) {
  x = x * 747796405u + 2891336453u;
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  return x ^ (x >> 13);
}

// The number of looks that a side waits before an instance.
constexpr uint32_t pause_before(uint32_t seed, uint32_t side, uint32_t instance) {
  const uint32_t number = mixed(seed * 2 + side + 2 * kLitmusInstances * instance);
  return (number >> 8) % (1u << number % (kLongestPauseBits + 1));
}

// Runs a side on the calling thread.
void walk_on_thread(const LitmusWalk& walk);

}  // namespace tandem::litmus
