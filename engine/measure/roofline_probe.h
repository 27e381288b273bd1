// Measures what cores can do at most: multiply-adds a second, of f32 and where asked of 8-bit integers, and bytes a
// second read from memory.
//
// Contract: measure() keeps every named core busy for some 0.2 s a figure (0.8 s in all, 1.2 s with integers) with
// threads of its own, so nothing else should run; figures are wall-clock rates. The buffer is several times the
// last-level cache, 256 MiB at least, and written before it is first read. Error when there is no memory for it.
// Threads: one at a time. Ownership: the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/measure/roofline.h"

namespace tandem {

class RooflineProbe {
 public:
  explicit RooflineProbe(std::vector<int> cores);  // at least one; the first is the "one core"
  ~RooflineProbe();

  CorePeaks measure(bool with_integers = false);
  const std::vector<int>& cores() const { return cores_; }
  size_t buffer_bytes() const { return words_ * sizeof(uint32_t); }

 private:
  std::vector<int> cores_;
  size_t words_ = 0;
  uint32_t* buffer_ = nullptr;  // [words_], pages of its own
};

// "32768K" -> bytes; 0 when it is no size. As Linux writes cache sizes.
size_t cache_size_of(const std::string& text);

}  // namespace tandem
