// What the lowering of several operators shares: checked narrowing of sizes, file stems, cuts of a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "engine/device/device.h"
#include "shaders/limits.h"
#include "sync/error.h"

namespace tandem::gpu {

inline constexpr int64_t kRowChunk = 512;  // elements of an element-wise operator one simd work-item takes: about 50 ns
inline constexpr size_t kWorkGroup = 64;   // simt: fixed, as the shape of the reduction trees is part of the bit rules

// Sizes and strides are kernel arguments of type int.
inline int32_t narrow(int64_t value) {
  TANDEM_CHECK(value >= 0 && value <= std::numeric_limits<int32_t>::max(),
               "an operator's size or stride: " + std::to_string(value));
  return static_cast<int32_t>(value);
}

// "rms_norm" -> "rms_norm_simd": file and function names of both families differ only in the suffix.
inline std::string in_family(const std::string& stem, KernelFamily family) {
  return stem + (family == KernelFamily::simt ? "_simt" : "_simd");
}

inline std::string define(const char* name, int64_t value) {
  return std::string("-D") + name + "=" + std::to_string(value);
}

inline size_t ceil_div(int64_t value, int64_t by) { return static_cast<size_t>((value + by - 1) / by); }
inline size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

// How element-wise operators cut rows of `width`: simd work-items take runs of `chunk`; simt ones single elements,
// `global` rounded up.
struct RowCut {
  int64_t chunk = 1;
  size_t global = 1, local = 1;
};
inline RowCut cut_rows(int64_t width, KernelFamily family, int compute_units) {
  if (family == KernelFamily::simt) return {1, round_up(static_cast<size_t>(width), kWorkGroup), kWorkGroup};
  // A single worker gains nothing from smaller pieces.
  const int64_t whole =
      std::min<int64_t>(static_cast<int64_t>(round_up(static_cast<size_t>(width), 16)), TANDEM_MAX_CHUNK);
  const int64_t chunk = compute_units == 1 ? whole : kRowChunk;
  return {chunk, ceil_div(width, chunk), 1};
}

}  // namespace tandem::gpu
