// Random products for the array's tests: dense operands that fit the format, and plain loops that define the result.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "npu_emu/array.h"
#include "npu_emu/number_format.h"
#include "packed/decode.h"
#include "packed/format.h"
#include "packed/row_product.h"
#include "tests/packed/random_panels.h"

namespace tandem::npu_emu {

inline std::vector<float> random_halves(int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = round_to_half(uniform(random));
  return values;
}

inline std::vector<int8_t> random_bytes(int64_t count, std::mt19937& random) {
  std::vector<int8_t> values(static_cast<size_t>(count));
  for (int8_t& value : values) value = static_cast<int8_t>(random());
  return values;
}

inline uint16_t random_half(std::mt19937& random) {
  return float_to_half(std::uniform_real_distribution<float>(-0.2f, 0.2f)(random));
}

// Panels of any format for [rows, columns], with random codes, moderate halves and finite floats.
inline std::vector<std::byte> random_panels(const PackedFormat& format, int64_t rows, int64_t columns,
                                            std::mt19937& random) {
  std::vector<std::byte> panels(panel_bytes(format, columns) * static_cast<size_t>(panel_count(rows)));
  if (format.kind == PackedKind::f32) {
    for (size_t i = 0; i < panels.size(); i += 4) {
      const float value = std::uniform_real_distribution<float>(-1, 1)(random);
      std::memcpy(&panels[i], &value, 4);
    }
    return panels;
  }
  if (format.dense()) {
    for (size_t i = 0; i < panels.size(); i += 2) {
      const float value = std::uniform_real_distribution<float>(-1, 1)(random);
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      const uint16_t narrow =
          format.kind == PackedKind::bf16 ? static_cast<uint16_t>(bits >> 16) : float_to_half(value);
      std::memcpy(&panels[i], &narrow, 2);
    }
    return panels;
  }
  for (std::byte& byte : panels) byte = static_cast<std::byte>(random());
  for (int64_t panel = 0; panel < panel_count(rows); ++panel) {
    for (int64_t tile = 0; tile < columns / kTileColumns; ++tile) {
      const TileView view =
          tile_view(format, panels.data() + static_cast<size_t>(panel) * panel_bytes(format, columns), tile);
      const int64_t halves = format.super_blocks() ? kPanelRows : kTileColumns / format.group * kPanelRows;
      for (int64_t i = 0; i < halves; ++i) {
        const_cast<uint16_t*>(view.scale)[i] = random_half(random);
        if (format.min == MinKind::explicit_) const_cast<uint16_t*>(view.minimum)[i] = random_half(random);
      }
    }
  }
  return panels;
}

// Every layout that the weight loader reads.
inline std::vector<PackedFormat> all_formats() { return test::all_formats(8); }

// y[m][n] has the sums of the contract. x[M][K] and w[N][K] already hold the cells' inputs.
inline std::vector<float> chain(const ProductShape& shape, const std::vector<float>& x, const std::vector<float>& w) {
  std::vector<float> y(static_cast<size_t>(shape.m * shape.n));
  for (int64_t s = 0; s < shape.m; ++s) {
    for (int64_t n = 0; n < shape.n; ++n)
      y[static_cast<size_t>(s * shape.n + n)] = row_product(w.data() + n * shape.k, x.data() + s * shape.k, shape.k);
  }
  return y;
}

// The decoded weights, dense [N][K].
inline std::vector<float> decode_all(const PackedFormat& format, const std::vector<std::byte>& panels, int64_t rows,
                                     int64_t columns) {
  std::vector<float> w(static_cast<size_t>(rows * columns));
  for (int64_t n = 0; n < rows; ++n) {
    const std::byte* panel = panels.data() + static_cast<size_t>(n / kPanelRows) * panel_bytes(format, columns);
    for (int64_t k = 0; k < columns; ++k)
      w[static_cast<size_t>(n * columns + k)] = cell_weight(format, panel, k, n % kPanelRows);
  }
  return w;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace tandem::npu_emu
