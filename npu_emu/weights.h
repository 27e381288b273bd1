// The weights' layout in memory as the array's weight loader reads it: panels of 64 rows, columns ascending.
//
// Contract
//   A plain description; the caller maps its own formats to it. W is [N, K]; panel p holds rows 64p .. 64p+63, the last
//   one padded with rows whose content does not matter. Within a panel, r = row, k = column:
//     f32/f16/bf16   element (r, k) at index k*64 + r
//     i4/i8          tiles of 64 rows x 32 columns (K a multiple of 32):
//       half scales    tile = [half scale[G][64]] [half min[G][64] if with_min] [codes], G = 32 / group
//       super scales   every 8 tiles (K a multiple of 256) begin with [half d[64]] [half dmin[64] if with_min];
//                      tile = [int8 sc[G][64]] [uint8 m[G][64] if with_min] [codes]
//                      scale = d * sc, min = -(dmin * m)   (both exact in f32)
//       codes i4: byte (k/2)*64 + i4_byte(r), column k low nibble, k+1 high nibble, unsigned: of 16 words, word j is
//                 rows j, j + 16, j + 32 and j + 48.   codes i8: signed, k*64 + r
//   Decoded weight, in f32: dense: the value (f32 and bf16 rounded to f16 where asked); else q*scale,
//   fma(q, scale, -(zero_point*scale)) or fma(q, scale, min).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::npu_emu {

inline constexpr int64_t kPanelRows = 64;
inline constexpr int64_t kGroupTile = 32;  // columns of one tile of codes
inline constexpr int64_t kSuperColumns = 256;
constexpr int64_t i4_byte(int64_t row) { return row % 16 * 4 + row / 16; }

enum class Element : uint8_t { f32, f16, bf16, i4, i8 };
enum class Scales : uint8_t { none, half, super };
enum class Minimum : uint8_t { none, zero_point, stored };

struct PanelFormat {
  Element element = Element::f16;
  Scales scales = Scales::none;
  Minimum minimum = Minimum::none;
  int group = 0;       // columns that share a scale: 32 or 16; 0 when dense
  int zero_point = 0;  // with Minimum::zero_point

  bool dense() const { return scales == Scales::none; }
  int groups() const { return group == 16 ? 2 : 1; }  // of a tile; a division would cost as much as 20 columns
  bool operator==(const PanelFormat&) const = default;
};

// Why columns = K does not fit the format, or nullptr when it does.
const char* misfit(const PanelFormat& format, int64_t columns);
size_t panel_bytes(const PanelFormat& format, int64_t columns);
inline int64_t panel_count(int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

// Where the parts of one tile of 32 columns lie. scale and minimum are halves (half scales) or d and dmin (super
// scales).
struct TileView {
  const uint16_t* scale = nullptr;
  const uint16_t* minimum = nullptr;
  const int8_t* sub_scale = nullptr;
  const uint8_t* sub_minimum = nullptr;
  const uint8_t* codes = nullptr;
};
TileView tile_view(const PanelFormat& format, const std::byte* panel, int64_t tile);

// The decoded weight (row, column) of a panel; the plain definition that every faster path equals bit for bit.
float decode_weight(const PanelFormat& format, const std::byte* panel, int64_t column, int64_t row);

}  // namespace tandem::npu_emu
