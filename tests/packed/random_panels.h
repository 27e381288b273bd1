// Packed weights of random bytes in every layout, for tests of their readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "packed/format.h"

namespace tandem::test {

inline constexpr std::byte kFinite[] = {std::byte{0xff},
                                        std::byte{0xfb}};  // little-endian: the second holds the exponent

// Every layout. zero_point: the zero point of layouts that have one.
inline std::vector<PackedFormat> all_formats(int zero_point = 5) {
  std::vector<PackedFormat> formats = {{PackedKind::f32}, {PackedKind::f16}, {PackedKind::bf16}};
  for (const PackedKind kind : {PackedKind::i4, PackedKind::i8})
    for (const ScaleKind scale : {ScaleKind::half, ScaleKind::super, ScaleKind::eighths})
      for (const MinKind min : {MinKind::none, MinKind::zero_point, MinKind::explicit_})
        for (const int group : {16, 32})
          formats.push_back({kind, scale, min, group, min == MinKind::zero_point ? zero_point : 0});
  for (const CodeBook book : {CodeBook::e2m1, CodeBook::iq4})
    for (const ScaleKind scale : {ScaleKind::half, ScaleKind::super, ScaleKind::eighths})
      for (const int group : {16, 32}) formats.push_back({PackedKind::i4, scale, MinKind::none, group, 0, book});
  return formats;
}

// Random bytes, with one bit of every second byte cleared. So no half and no float is infinite or a NaN, whose bits
// could not be compared.
inline std::vector<std::byte> random_panels(const PackedFormat& format, int64_t rows, int64_t columns) {
  std::mt19937 random(3);
  std::vector<std::byte> panels(packed_bytes(format, rows, columns));
  for (size_t i = 0; i < panels.size(); ++i) panels[i] = static_cast<std::byte>(random() >> 24) & kFinite[i % 2];
  return panels;
}

}  // namespace tandem::test
