#include "engine/device/gpu/product_kernels.h"

#include <algorithm>
#include <string>

#include "engine/device/gpu/lower_support.h"
#include "packed/act_i8.h"
#include "packed/runs.h"
#include "sync/error.h"

namespace tandem::gpu {
namespace {

constexpr size_t kRuns = static_cast<size_t>(kColumnRuns);
constexpr size_t kLeastGroup = 256;  // simt: the work-items of a group that every device must allow

// A group that computes all runs of 64 rows at once has a sum for each token and work-item, and a total for each token
// and row.
const char* lacks_wide_groups(const ProductShape& shape, const LoweringContext& context) {
  constexpr size_t kItems = kPanelRows * kRuns;
  if (context.max_work_group < kItems) return "work-groups of 1,024";
  const size_t local_bytes = static_cast<size_t>(shape.tokens) * (kItems + kPanelRows) * sizeof(float);
  return context.local_memory_bytes < local_bytes ? "local memory for the sums of 16 runs" : nullptr;
}

// A matrix unit adds 32 columns at once, so they must share a scale.
bool suits_units(const ProductShape& shape) { return shape.format.group == kActGroup; }

const char* lacks_matrix_units(const ProductShape& shape, const LoweringContext& context) {
  if (!suits_units(shape)) return "";
  const MatrixUnits known = context.shaders ? MatrixUnits::cooperative : MatrixUnits::ptx;
  return context.matrix_units == known ? nullptr : "proven matrix units of a kind that the kernel knows";
}
const char* lacks_emulated_units(const ProductShape& shape, const LoweringContext& context) {
  return suits_units(shape) && context.matrix_units == MatrixUnits::emulated ? nullptr : "";
}

// Scales and minima take registers. Beside the sums of four blocks of 16 rows, there are none left for them.
const char* lacks_registers(const ProductShape& shape, const LoweringContext& context) {
  if (!shape.format.dense()) return "";
  return context.vector_registers >= 32 ? nullptr : "32 vector registers";
}

// A kernel that finds its matrix by ids serves every choice, also those that another wave or device computes.
const char* lacks_lists(const ProductShape& shape, const LoweringContext&) { return shape.listed_only ? nullptr : ""; }

constexpr auto simd = KernelFamily::simd, simt = KernelFamily::simt;
constexpr auto any_op = Operators::both;
constexpr auto opencl = Interfaces::opencl, vulkan = Interfaces::vulkan, any_api = Interfaces::both;
constexpr auto exact = Sums::exact, act_i8 = Sums::act_i8, any_sums = Sums::both;
constexpr auto small_batch = ProductKernel::Form::small_batch, gemm = ProductKernel::Form::gemm;
constexpr auto panels = Layouts::panels, row_pieces = Layouts::row_pieces;

// The fastest kernel for a product comes first. A row has its name, its products {family, operators, interfaces, sums,
// layouts, most tokens}, what it needs, its cut {rows, tokens, group}, and its names {form, option, suffix}.
constexpr ProductKernel kTable[] = {
    // simt, a small batch: a work-item of a group adds a run of a row's columns, or one run after the other. With 8-bit
    // activations, a tile takes less time from 5 tokens on.
    {"groups of 8 rows and 16 runs",
     {simt, any_op, any_api, exact, row_pieces, kSmallBatch},
     nullptr,
     {kRowsOfGroup, 0, {kRowsOfGroup, kRuns}},
     {small_batch, "-DROW_PIECES=1", "_rows"}},
    {"groups of 8 rows and 16 runs",
     {simt, any_op, any_api, act_i8, row_pieces, 4},
     nullptr,
     {kRowsOfGroup, 0, {kRowsOfGroup, kRuns}},
     {small_batch, "-DROW_PIECES=1", "_rows"}},
    // More tokens leave a work-item of such a wide group too few registers.
    {"groups of 64 rows and 16 runs",
     {simt, any_op, any_api, any_sums, panels, 4},
     lacks_wide_groups,
     {64, 0, {64, kRuns}},
     {small_batch, "-DWIDE=1", "_wide"}},
    {"groups of 64 rows and 4 runs",
     {simt, any_op, any_api, exact, panels, kSmallBatch},
     nullptr,
     {64, 0, {64, 4}},
     {small_batch}},
    {"groups of 64 rows and 4 runs",
     {simt, any_op, any_api, act_i8, panels, 4},
     nullptr,
     {64, 0, {64, 4}},
     {small_batch}},

    // simt, more tokens: a group has a tile of results, 8 x 4 (exact sums) or 4 x 4 of them in a work-item.
    {"tiles of 64 rows and 64 tokens",
     {simt, any_op, any_api, exact, row_pieces},
     nullptr,
     {64, kTokensOfTile, {128, 1}},
     {gemm, "-DROW_PIECES=1"}},
    {"tiles of 64 rows and 64 tokens",
     {simt, any_op, any_api, exact, panels},
     nullptr,
     {64, kTokensOfTile, {128, 1}},
     {gemm}},
    {"tiles of 64 rows and 64 tokens on matrix units (mma m16n8k32 by PTX)",
     {simt, any_op, opencl, act_i8, row_pieces},
     lacks_matrix_units,
     {64, kTokensOfTile, {128, 1}},
     {gemm, "-DROW_PIECES=1 -DMATRIX_UNITS=1"}},
    {"tiles of 64 rows and 64 tokens on emulated matrix units",
     {simt, any_op, opencl, act_i8, row_pieces},
     lacks_emulated_units,
     {64, kTokensOfTile, {128, 1}},
     {gemm, "-DROW_PIECES=1 -DMATRIX_UNITS=2"}},
    {"tiles of 64 rows and 64 tokens on matrix units (VK_KHR_cooperative_matrix)",
     {simt, any_op, vulkan, act_i8, row_pieces},
     lacks_matrix_units,
     {64, kTokensOfTile, {128, 1}},
     {gemm, "", "_units", false, false}},
    {"tiles of 64 rows and 64 tokens on emulated matrix units",
     {simt, any_op, vulkan, act_i8, row_pieces},
     lacks_emulated_units,
     {64, kTokensOfTile, {128, 1}},
     {gemm, "", "_emulated", false, false}},
    {"tiles of 64 rows and 64 tokens",
     {simt, any_op, any_api, act_i8, row_pieces},
     nullptr,
     {64, kTokensOfTile, {256, 1}},
     {gemm, "-DROW_PIECES=1"}},
    {"tiles of 64 rows and 64 tokens",
     {simt, any_op, any_api, act_i8, panels},
     nullptr,
     {64, kTokensOfTile, {256, 1}},
     {gemm}},

    // simd, kernels/: a work-item has vectors of 16 rows. Four of them hide the latency of multiply-adds. With more
    // tokens, the sums of four leave no registers for scales and minima.
    {"work-items of 64 rows", {simd, any_op, opencl, exact, panels, 4}, nullptr, {64}, {small_batch}},
    {"work-items of 64 rows",
     {simd, Operators::matmul, opencl, exact, panels, kSmallBatch},
     lacks_registers,
     {64},
     {small_batch}},
    {"work-items of 32 rows", {simd, any_op, opencl, exact, panels, kSmallBatch}, nullptr, {32}, {small_batch}},
    {"work-items of 32 rows, one tile of tokens after the other",
     {simd, any_op, opencl, exact, panels},
     nullptr,
     {32},
     {gemm}},
    // The sums of 3 tokens fit the registers beside the words that a work-item decodes while it reads.
    {"work-items of 64 rows", {simd, any_op, opencl, act_i8, panels, 3}, nullptr, {64}, {small_batch}},
    {"work-items of 64 rows, one tile of tokens after the other",
     {simd, any_op, opencl, act_i8, panels},
     nullptr,
     {64},
     {gemm}},

    // simd, shaders/: a lane has four rows, or with 8-bit activations one.
    {"work-items of 64 rows", {simd, any_op, vulkan, exact, panels, kSmallBatch}, nullptr, {64}, {small_batch}},
    {"tiles of 64 rows and 8 tokens", {simd, any_op, vulkan, exact, panels}, nullptr, {64, kSmallBatch}, {gemm}},
    {"groups of 64 rows and 4 tokens",
     {simd, Operators::matmul, vulkan, act_i8, panels},
     nullptr,
     {64, 4, {64, 1}},
     {gemm, "", "", true}},
    {"groups of 64 rows and 4 listed choices",
     {simd, Operators::grouped_matmul, vulkan, act_i8, panels},
     lacks_lists,
     {64, 4, {64, 1}},
     {gemm, "", "", true}},
    {"groups of 64 rows for each choice",
     {simd, Operators::grouped_matmul, vulkan, act_i8, panels},
     nullptr,
     {64, 1, {64, 1}},
     {small_batch}},
};

template <typename Column>
bool covers(Column column, Column asked) {
  return column == Column::both || column == asked;
}

// Build options that name the device's vectors and proven instructions, for the kernels of its family.
std::string device_options(const ProductKernel& kernel, const ProductShape& shape, const LoweringContext& context) {
  if (context.shaders) {
    if (kernel.named.has_dot || context.matrix_units != MatrixUnits::cooperative) return "";
    const MatrixShape& unit = context.matrix_shape;
    return " " + define("UNIT_ROWS", unit.rows) + " " + define("UNIT_TOKENS", unit.tokens) + " " +
           define("UNIT_COLUMNS", unit.columns) + " " + define("SUBGROUPS", unit.subgroups);
  }
  if (context.family == simt) {
    const bool has_dot = shape.act_i8 && context.packed_dot != PackedDot::none;
    return has_dot ? " " + define("HAS_PACKED_DOT", static_cast<int>(context.packed_dot)) : "";
  }
  std::string options = " " + define("REGISTERS", context.vector_registers);
  if (!shape.act_i8) return kernel.is_small_batch() ? options + offsets_option(shape.format, context) : options;
  if (const std::string how = byte_products_option(context.byte_products); !how.empty()) options += " " + how;
  if (context.processor.foresees_long_runs) options += " -DFETCHES_SMALL_BATCH=0";
  return options;
}

}  // namespace

bool ProductKernel::is_for(const ProductShape& shape, const LoweringContext& context) const {
  return products.family == context.family && shape.tokens <= products.most_tokens &&
         covers(products.operators, shape.grouped ? Operators::grouped_matmul : Operators::matmul) &&
         covers(products.interfaces, context.shaders ? vulkan : opencl) &&
         covers(products.sums, shape.act_i8 ? act_i8 : exact) &&
         covers(products.layouts, shape.row_pieces ? row_pieces : panels);
}

std::span<const ProductKernel> product_kernels() { return kTable; }

const ProductKernel& product_kernel(const ProductShape& shape, const LoweringContext& context) {
  for (const ProductKernel& kernel : kTable) {
    if (kernel.is_for(shape, context) && (kernel.lacks == nullptr || kernel.lacks(shape, context) == nullptr))
      return kernel;
  }
  throw Error("no kernel multiplies with such weights", to_string(shape.format));
}

KernelLaunch product_launch(const ProductKernel& kernel, const ProductShape& shape, int64_t rows,
                            const LoweringContext& context) {
  TANDEM_CHECK(context.family != simt || context.max_work_group >= kLeastGroup,
               "simt products need work-groups of 256, the device allows " + std::to_string(context.max_work_group));
  const ProductKernel::Named& named = kernel.named;
  const bool has_suffix = context.shaders && *named.suffix != '\0';
  KernelLaunch launch;
  launch.source = in_family(shape.act_i8 ? "matmul_act8" : matmul_stem(shape.format.kind), context.family);
  launch.kernel =
      std::string(shape.grouped ? "grouped_" : "matmul_") + (kernel.is_small_batch() ? "small_batch" : "gemm");
  if (has_suffix) launch.kernel += named.suffix;
  // This comes last, because "_dot" ends the names of whole kernels: matmul_small_batch_wide_dot.
  if (context.shaders && shape.act_i8 && named.has_dot && context.packed_dot != PackedDot::none)
    launch.kernel += "_dot";

  launch.options = packed_options(shape.format);
  if (shape.act_i8) launch.options += " " + define("BITS", shape.format.kind == PackedKind::i4 ? 4 : 8);
  if (context.family == simd && !shape.act_i8) launch.options += " " + define("BLOCKS", kernel.cut.rows / 16);
  if (kernel.is_small_batch() || named.names_tile) {
    const int64_t most = kernel.cut.tokens > 0 ? kernel.cut.tokens : shape.tokens;
    launch.options += " " + define("TOKENS", std::min(shape.tokens, most));
  }
  launch.options += device_options(kernel, shape, context);
  if (!has_suffix && *named.option != '\0') launch.options.append(" ").append(named.option);

  launch.local = {kernel.cut.group[0], kernel.cut.group[1], 1};
  launch.global = {ceil_div(rows, kernel.cut.rows) * kernel.cut.group[0], kernel.cut.group[1], 1};
  return launch;
}

}  // namespace tandem::gpu
