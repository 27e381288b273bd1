// Helpers that the lowering of several operators shares.
//
// They cover the checked narrowing of sizes, file stems, build options, cuts of a row, and the limits of a device's
// loops and arguments.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/gpu/lower.h"
#include "packed/format.h"
#include "shaders/limits.h"
#include "sync/error.h"

namespace tandem::gpu {

// Elements that one simd work-item of an element-wise operator takes: about 50 ns.
inline constexpr int64_t kRowChunk = 512;
// simt: fixed, because the shape of the reduction trees is part of the bit rules.
inline constexpr size_t kWorkGroup = 64;

// Narrows a size or stride, because these are kernel arguments of type int.
inline int32_t narrow(int64_t value) {
  TANDEM_CHECK(value >= 0 && value <= std::numeric_limits<int32_t>::max(),
               "an operator's size or stride: " + std::to_string(value));
  return static_cast<int32_t>(value);
}

// "rms_norm" -> "rms_norm_simd": the file and function names of both families differ only in the suffix.
inline std::string in_family(const std::string& stem, KernelFamily family) {
  return stem + (family == KernelFamily::simt ? "_simt" : "_simd");
}

inline std::string define(const char* name, int64_t value) {
  return std::string("-D") + name + "=" + std::to_string(value);
}

// Several defines in one string: "-DHEAD_DIM=64 -DTILE=8".
inline std::string defines(std::initializer_list<std::pair<const char*, int64_t>> list) {
  std::string options;
  options.reserve(24 * list.size());
  for (const auto& [name, value] : list) {
    if (!options.empty()) options += ' ';
    options.append("-D").append(name).append("=").append(std::to_string(value));
  }
  return options;
}

// The argument for the begins of segments. A kernel does not read it when there is one segment, so any operand serves.
inline const Operand& begins_argument(const Segments& segments) {
  return segments.count > 1 ? segments.begins : segments.pages;
}

// The argument for the paths of trees. Kernels without TREES do not read it.
inline const Operand& paths_argument(const Segments& segments) {
  return segments.depth > 0 ? segments.paths : segments.pages;
}

inline void append_to(std::vector<Arg>& args, const std::vector<Arg>& more) {
  args.insert(args.end(), more.begin(), more.end());
}

// An operator's only launch, moved. An initializer list would copy it.
inline std::vector<KernelLaunch> only(KernelLaunch&& launch) {
  std::vector<KernelLaunch> launches;
  launches.push_back(std::move(launch));
  return launches;
}

// "matmul_i4": the stem of the sources that multiply with weights of this kind.
inline const char* matmul_stem(PackedKind kind) {
  return kind == PackedKind::i4 ? "matmul_i4" : kind == PackedKind::i8 ? "matmul_i8" : "matmul_dense";
}

// Build options that select a kernel's variant for a packed format: "-DGROUP=32 -DSUPER=0 -DMIN_KIND=1 -DZERO_POINT=8"
// for i4 and i8, and "-DBOOK=1" with a code book; "-DELEMENT=1" (0 f32, 1 f16, 2 bf16) for dense ones.
inline std::string packed_options(const PackedFormat& format) {
  if (format.dense())
    return define("ELEMENT", format.kind == PackedKind::f32 ? 0 : format.kind == PackedKind::f16 ? 1 : 2);
  const int min = format.min == MinKind::none ? 0 : format.min == MinKind::zero_point ? 1 : 2;
  const int super = format.scale == ScaleKind::half ? 0 : format.scale == ScaleKind::super ? 1 : 2;
  std::string options =
      defines({{"GROUP", format.group}, {"SUPER", super}, {"MIN_KIND", min}, {"ZERO_POINT", format.zero_point}});
  if (format.book != CodeBook::none) options += " " + define("BOOK", static_cast<int>(format.book));
  return options;
}

// Follows packed_options() for the simd kernels of OpenCL. They turn 4-bit codes into floats behind an offset, unless
// that costs products.
inline const char* offsets_option(const PackedFormat& format, const LoweringContext& context) {
  const bool takes_offsets =
      format.kind == PackedKind::i4 && format.scale == ScaleKind::half && format.min != MinKind::none;
  return takes_offsets && !context.shaders && context.processor.joins_cost_products ? " -DOFFSETS_PAY=0" : "";
}

inline size_t ceil_div(int64_t value, int64_t by) { return static_cast<size_t>((value + by - 1) / by); }
inline size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

// Whether every row of floats begins at a multiple of 16 bytes; strides in floats.
inline bool rows_are_aligned(const Operand& rows, int64_t stride, int64_t slot_stride) {
  return rows.offset_bytes % 16 == 0 && stride % 4 == 0 && slot_stride % 4 == 0;
}

// The object that an error names, as a text or as a function that makes the text. Operators are lowered by the hundred
// and hardly one is wrong, so a function makes the text only when an error needs it.
template <typename Named>
std::string text_of(const Named& on) {
  if constexpr (std::is_invocable_v<Named>)
    return on();
  else
    return on;
}

// Error when the device counts loop iterations and `size` exceeds `limit`. A shader's loops grow with `size`, and they
// are proven up to the limit, which is a macro in shaders/limits.h.
template <typename Named>
void require_countable(int64_t size, int64_t limit, const LoweringContext& context, const char* what, const Named& on) {
  if (context.loop_budget == 0 || size <= limit) return;
  throw Error(std::string(what) + " " + std::to_string(size) + " exceeds " + std::to_string(limit) +
                  ", the most its loops are proven for where a driver ends them after " +
                  std::to_string(context.loop_budget) + " iterations",
              text_of(on), "use another device for it");
}

// Bytes that one kernel argument reaches, from its operand on.
inline int64_t argument_reach(const LoweringContext& context) {
  return context.max_buffer_bytes == 0 ? std::numeric_limits<int64_t>::max() : context.max_buffer_bytes;
}

// How many pieces of `piece_bytes` an argument reaches; Error when it reaches none.
template <typename Named>
int64_t pieces_within_reach(int64_t piece_bytes, const LoweringContext& context, const char* what, const Named& on) {
  const int64_t pieces = argument_reach(context) / std::max<int64_t>(piece_bytes, 1);
  if (pieces > 0) return pieces;
  throw Error(std::string(what) + " takes " + std::to_string(piece_bytes) + " bytes, more than the " +
                  std::to_string(context.max_buffer_bytes) + " that one argument of a kernel reaches",
              text_of(on), "use another device for it");
}

// The cut of rows of `width` for element-wise operators. simd work-items take runs of `chunk`. simt work-items take
// single elements, with `global` rounded up.
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
