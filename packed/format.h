// Packed weights: the few formats that all kernels of the GPU and the NPU read, byte by byte.
//
// A weight W[N, K] is cut into panels of 64 rows (the last one padded). A panel is one contiguous run of bytes. So rows
// cut at a multiple of 64 are a contiguous region, and the GPU and the NPU read the same bytes.
//
// The numeric contract defines the decoded value, all in f32:
//   dense                w = value (f16 and bf16 are converted exactly).
//   MinKind::none        w = q * scale.
//   MinKind::zero_point  w = fma(q, scale, -(zero_point * scale)).
//   MinKind::explicit_   w = fma(q, scale, min).
//
// Panel layout, r = row in the panel (0..63), k = column:
//   f32/f16/bf16   element (r, k) at index k*64 + r.
//   i4/i8          K is a multiple of 32; the panel is a sequence of tiles of 64 rows x 32 columns.
//     ScaleKind::half: tile = [half scale[G][64]] [half min[G][64] if explicit_] [quants], G = 32 / group (1 or 2).
//     ScaleKind::super, eighths: K is a multiple of 256; 8 tiles share a header:
//            super block = [half d[64]] [half dmin[64] if explicit_] then 8 x tile.
//            tile = [int8 sc[G][64]] [uint8 m[G][64] if explicit_] [quants].
//            scale = float(d) * float(sc)        (exact in f32).
//            With ScaleKind::eighths it is an eighth of that: float(d) * (float(sc) / 8).
//            min   = -(float(dmin) * float(m))   (exact in f32).
//     quants i4: 1024 bytes; byte (k/2)*64 + i4_byte(r) holds the codes of k in the low and of k+1 in the high nibble
//            (k even). q is the code, 0..15, or the value that the code has in a code book. In 16 words of 32 bits,
//            word j holds rows j, j + 16, j + 32 and j + 48. So a vector of words, masked at one byte, is a vector of
//            neighbouring rows.
//     quants i8: int8 at k*64 + r: 2048 bytes; q is signed.
//
// Contract: plain values and pure functions. Higher floors know the source of weights (engine/tensor/packed.h) and
//   multiply them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tandem {

// Version of the layouts above and of the format that each storage type becomes. Every change raises it, because files
// that programs have kept (engine/model/packed_file.h) hold packed bytes.
inline constexpr uint32_t kPackingVersion = 2;

inline constexpr int64_t kPanelRows = 64;
inline constexpr int64_t kTileColumns = 32;
inline constexpr int64_t kSuperColumns = 256;
constexpr int64_t i4_byte(int64_t row) { return row % 16 * 4 + row / 16; }

enum class PackedKind : uint8_t { f32, f16, bf16, i4, i8 };
enum class ScaleKind : uint8_t { none, half, super, eighths };
enum class MinKind : uint8_t { none, zero_point, explicit_ };

// A code of four bits stands for itself, for twice a float of four bits (E2M1: MXFP4, NVFP4), or for one of 16 values
// that are closer together near zero (IQ4_NL, IQ4_XS). A format with a code book has no minimum.
enum class CodeBook : uint8_t { none, e2m1, iq4 };
inline constexpr int8_t kE2m1Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

struct PackedFormat {
  PackedKind kind = PackedKind::f32;
  ScaleKind scale = ScaleKind::none;
  MinKind min = MinKind::none;
  int group = 0;                   // columns that share a scale: 32 or 16; 0 for dense
  int zero_point = 0;              // only with MinKind::zero_point
  CodeBook book = CodeBook::none;  // only with PackedKind::i4

  bool dense() const { return scale == ScaleKind::none; }
  bool super_blocks() const { return scale == ScaleKind::super || scale == ScaleKind::eighths; }
  // A super block's integer scales are multiples of its half times this.
  float scale_step() const { return scale == ScaleKind::eighths ? 0.125F : 1.0F; }
  const int8_t* book_values() const { return book == CodeBook::e2m1 ? kE2m1Values : kIq4Values; }  // 16; with a book
  int groups() const { return group == 16 ? 2 : 1; }  // of a tile; a division would cost as much as 20 columns
  // f32 and bf16 values do not fit the NPU's 16-bit float operands.
  bool exact_in_f16_contract() const { return kind != PackedKind::f32 && kind != PackedKind::bf16; }
  auto operator<=>(const PackedFormat&) const = default;
};

// "i4.g32.half.zero8", "i4.g32.half.e2m1", "i8.g16.super", "f16": also the kernels' build key.
std::string to_string(const PackedFormat& format);

// The reason why rows of so many columns do not fit the format; nullptr if they fit.
const char* misfit(const PackedFormat& format, int64_t columns);

// Sizes in bytes of the layout above.
size_t tile_bytes(const PackedFormat& format);          // one 64 x 32 tile without the super header; 0 for dense
size_t super_header_bytes(const PackedFormat& format);  // 0 unless there are super blocks
size_t panel_bytes(const PackedFormat& format, int64_t columns);  // Error at a misfit
inline int64_t panel_count(int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }
size_t packed_bytes(const PackedFormat& format, int64_t rows, int64_t columns);

// Pointers to the parts of one tile of 32 columns. scale and minimum are halves (ScaleKind::half) or d and dmin
// (super). A part that the format lacks is nullptr or must not be read.
struct TileView {
  const uint16_t* scale = nullptr;
  const uint16_t* minimum = nullptr;
  const int8_t* sub_scale = nullptr;
  const uint8_t* sub_minimum = nullptr;
  const uint8_t* codes = nullptr;
};
TileView tile_view(const PackedFormat& format, const std::byte* panel, int64_t tile);

}  // namespace tandem
