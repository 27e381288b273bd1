// Measures what cores can do at most: f32 multiply-adds a second, bytes a second read from memory, and on request 8-bit
// integer multiply-adds.
//
// Contract: measure() keeps every core of the list busy for some 0.2 s a figure, with threads of its own. It takes 0.8
// s in all, 1.2 s with integers, and nothing else should run meanwhile. Figures are wall-clock rates. The buffer is
// several times as large as the last-level cache, at least 256 MiB, and is written before it is first read. Error when
// there is no memory for it. Threads: one at a time. Ownership: the buffer.
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

// Bytes of a cache size as Linux writes it: "32768K" -> 33554432. 0 for any other text.
size_t cache_size_of(const std::string& text);

}  // namespace tandem
