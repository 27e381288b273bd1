// Packed weights: the few formats every kernel reads. Every GGUF type becomes one of them at load, without losing a
// bit.
//
// A weight W[N, K] is cut into panels of 64 rows (the last one padded with zero rows). A panel is one contiguous run of
// bytes, so a row-cut at a multiple of 64 is a contiguous region, and the GPU and the NPU read the same bytes.
//
// The decoded value that the numeric contract names is (all in f32):
//   dense          w = value (f16 and bf16 converted exactly)
//   MinKind::none        w = q * scale
//   MinKind::zero_point  w = fma(q, scale, -(zero_point * scale))
//   MinKind::explicit_   w = fma(q, scale, min)
//
// Panel layout, r = row in the panel (0..63), k = column:
//   f32/f16/bf16   element (r, k) at index k*64 + r.
//   i4/i8          K is a multiple of 32; the panel is a sequence of tiles of 64 rows x 32 columns.
//     ScaleKind::half: tile = [half scale[G][64]] [half min[G][64] if explicit_] [quants], G = 32 / group (1 or 2)
//     ScaleKind::super: K is a multiple of 256; 8 tiles share a header:
//            super block = [half d[64]] [half dmin[64] if explicit_] then 8 x tile,
//            tile = [int8 sc[G][64]] [uint8 m[G][64] if explicit_] [quants]
//            scale = float(d) * float(sc)        (exact in f32)
//            min   = -(float(dmin) * float(m))   (exact in f32)
//     quants i4: byte (k/2)*64 + i4_byte(r) holds q(k) in the low and q(k+1) in the high nibble (k even): 1024 bytes; q
//     is
//            0..15. Of 16 words of 32 bits, word j is rows j, j + 16, j + 32 and j + 48: a vector of words, masked
//            where the codes stand, is a vector of neighbouring rows.
//     quants i8: int8 at k*64 + r: 2048 bytes; q is signed
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/tensor/operand.h"
#include "engine/tensor/types.h"

namespace tandem {

// Of the layouts above, and of which type becomes which: raised with every change, because files that programs have
// kept (engine/model/packed_file.h) hold them.
inline constexpr uint32_t kPackingVersion = 1;

inline constexpr int64_t kPanelRows = 64;
inline constexpr int64_t kTileColumns = 32;
inline constexpr int64_t kSuperColumns = 256;
constexpr int i4_byte(int row) { return row % 16 * 4 + row / 16; }

enum class PackedKind : uint8_t { f32, f16, bf16, i4, i8 };
enum class ScaleKind : uint8_t { none, half, super };
enum class MinKind : uint8_t { none, zero_point, explicit_ };

struct PackedFormat {
  PackedKind kind = PackedKind::f32;
  ScaleKind scale = ScaleKind::none;
  MinKind min = MinKind::none;
  uint8_t group = 0;       // columns that share a scale: 32 or 16; 0 for dense
  uint8_t zero_point = 0;  // with MinKind::zero_point

  bool dense() const { return scale == ScaleKind::none; }
  // f32 and bf16 values do not fit the NPU's 16-bit float operands.
  bool exact_in_f16_contract() const { return kind != PackedKind::f32 && kind != PackedKind::bf16; }
  bool operator==(const PackedFormat&) const = default;
};

std::string to_string(
    const PackedFormat& format);  // "i4.g32.half.zero8", "i8.g16.super", "f16": also the kernels' build key
PackedFormat packed_format(StorageType type);  // the one format a storage type is packed to

// Sizes in bytes of the layout above.
size_t tile_bytes(const PackedFormat& format);          // one 64 x 32 tile without the super header; 0 for dense
size_t super_header_bytes(const PackedFormat& format);  // 0 unless ScaleKind::super
size_t panel_bytes(const PackedFormat& format, int64_t columns);  // Error if K does not fit the format
inline int64_t panel_count(int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }
size_t packed_bytes(const PackedFormat& format, int64_t rows, int64_t columns);

// A packed weight [N, K] lying in a pool slot. A plain value; borrows the slot. slot == nullptr: shape only.
struct PackedMatrix {
  PackedFormat format;
  int64_t rows = 0;     // N
  int64_t columns = 0;  // K
  Operand data;         // panel 0 starts here; 64-byte aligned
  size_t bytes() const { return packed_bytes(format, rows, columns); }
  bool operator==(const PackedMatrix&) const = default;
};

// Packs rows [row_begin, row_begin + row_count) of the destination: source row i (storage type `type`, `columns`
// values) goes to destination row row_begin + i. `panels` is the first byte of panel 0. Rows nobody packs stay as they
// are (zero in a fresh slot). Different row ranges may be packed by different threads when no panel is shared.
void pack_rows(StorageType type, const void* source, int64_t columns, int64_t row_begin, int64_t row_count,
               std::byte* panels);

// Decodes element row [row, 0..K) by the contract's formula; the plain reference of all kernels.
void decode_packed_row(const PackedFormat& format, const std::byte* panels, int64_t columns, int64_t row, float* out);

}  // namespace tandem
