// Embed: one launch, or several when one argument does not reach the whole table or all results.
#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/row_pieces.h"
#include "sync/error.h"

namespace tandem::gpu {
namespace {

// Columns that a group decodes: one CPU work-item in turn, or neighbouring work-items on a GPU.
constexpr int64_t kColumns = 64;

std::string describe(const Embed& op) {
  return "embed S=" + std::to_string(op.S) + " H=" + std::to_string(op.H) + ", weight [" + std::to_string(op.w.rows) +
         ", " + std::to_string(op.w.columns) + "]";
}

// Looks up tokens [begin, begin + tokens). The launch serves only ids in rows [row_begin, row_end) of the table.
KernelLaunch look_up(const Embed& op, int64_t begin, int64_t tokens, int64_t row_begin, int64_t row_end,
                     const LoweringContext& context) {
  const bool simt = context.family == KernelFamily::simt;
  const size_t panel = panel_bytes(op.w.format, op.H);
  KernelLaunch launch;
  launch.source = launch.kernel = "embed";
  // The kind says all about a dense format; packed formats also have groups, scales and minima.
  launch.options = define("KIND", static_cast<int>(op.w.format.kind));
  if (!op.w.format.dense()) launch.options.append(" ").append(packed_options(op.w.format));
  if (in_row_pieces(op.w, context)) launch.options += " -DROW_PIECES=1";
  launch.args = {BufferArg{op.w.data.advanced(static_cast<size_t>(row_begin / kPanelRows) * panel)},
                 BufferArg{op.ids.advanced(static_cast<size_t>(begin) * sizeof(int32_t))},
                 BufferArg{op.y.advanced(static_cast<size_t>(begin * op.H) * sizeof(float)), true},
                 uint64_t{panel},
                 narrow(op.w.rows),
                 narrow(row_begin),
                 narrow(row_end),
                 narrow(op.H),
                 narrow(simt ? 1 : kColumns),
                 op.scale};
  const size_t groups = ceil_div(op.H, kColumns);
  launch.local = {simt ? kWorkGroup : 1, 1, 1};
  launch.global = {groups * launch.local[0], static_cast<size_t>(tokens), 1};
  return launch;
}

}  // namespace

// Tables of a large vocabulary can exceed what one argument may reach, and so can the rows of many tokens. Then there
// are several launches, each for a part of the tokens and of the rows.
std::vector<KernelLaunch> lower_embed(const Embed& op, const LoweringContext& context) {
  if (op.S < 0 || op.H <= 0 || op.H != op.w.columns)
    throw Error("malformed operator: H must be the width of the embedding", describe(op));
  if (op.S == 0) return {};
  // When one argument does not reach the whole table, each launch serves the ids that fall into its rows.
  const auto panel = static_cast<int64_t>(panel_bytes(op.w.format, op.H));
  const auto object = [&op] { return describe(op); };
  const int64_t panels = pieces_within_reach(panel, context, "a panel of 64 rows", object);
  const int64_t rows = std::min(panels, panel_count(op.w.rows)) * kPanelRows;
  const int64_t tokens =
      std::min(op.S, pieces_within_reach(op.H * static_cast<int64_t>(sizeof(float)), context, "one token", object));
  std::vector<KernelLaunch> launches;
  for (int64_t begin = 0; begin < op.S; begin += tokens) {
    // The launch with row 0 writes NaN for ids outside the vocabulary. So even a table without rows gets a launch.
    for (int64_t row = 0; row < std::max<int64_t>(op.w.rows, 1); row += std::max<int64_t>(rows, 1)) {
      launches.push_back(
          look_up(op, begin, std::min(tokens, op.S - begin), row, std::min(op.w.rows, row + rows), context));
    }
  }
  return launches;
}

}  // namespace tandem::gpu
