#include "engine/device/operator.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr size_t kFloat = sizeof(float), kId = sizeof(int32_t);

size_t floats(int64_t count) { return static_cast<size_t>(count) * kFloat; }
size_t ids(int64_t count) { return static_cast<size_t>(count) * kId; }

Region run(Operand at, size_t bytes) { return {at, 1, bytes, bytes}; }
Region rows(Operand at, int64_t count, int64_t width, int64_t stride) {
  return {at, count, floats(width), floats(stride)};
}

Region scratch_of(const Attention& op) {
  return run(op.scratch, attention_scratch_bytes(op.S, op.heads, op.cache.head_dim_v, op.cache.capacity));
}

size_t weight_bytes(const MatMul& op) {
  return static_cast<size_t>(panel_count(op.row_end) - op.row_begin / kPanelRows) *
         panel_bytes(op.w.format, op.w.columns);
}

// Offset in its slot behind the last byte.
size_t end_of(const Region& region) {
  return region.at.offset_bytes + static_cast<size_t>(region.rows - 1) * region.pitch_bytes + region.width_bytes;
}

bool is_empty(const Region& region) { return !region.at || region.rows == 0 || region.width_bytes == 0; }

struct Reads {
  std::vector<Region> operator()(const MatMul& op) const {
    const size_t skipped = packed_bytes(op.w.format, op.row_begin, op.w.columns);
    return {run(op.w.data.advanced(skipped), weight_bytes(op)), rows(op.x, op.S, op.K, op.x_stride)};
  }
  std::vector<Region> operator()(const Embed& op) const {
    return {run(op.w.data, op.w.bytes()), run(op.ids, ids(op.S))};
  }
  std::vector<Region> operator()(const RmsNorm& op) const {
    const int64_t width = op.groups * op.width;
    std::vector<Region> all{rows(op.x, op.S, width, op.x_stride), run(op.weight, floats(op.width))};
    if (op.add) all.push_back(rows(op.add, op.S, width, op.add_stride));
    return all;
  }
  std::vector<Region> operator()(const Rope& op) const {
    return {rows(op.x, op.S, op.heads * op.head_dim, op.x_stride), run(op.positions, ids(op.S)),
            run(op.table, floats(op.table_positions * op.rot_dim))};
  }
  // The cache is read too: only some positions of the region that Writes names are written, the others keep their
  // values.
  std::vector<Region> operator()(const KvAppend& op) const {
    return {rows(op.k, op.S, op.cache.kv_heads * op.cache.head_dim, op.k_stride),
            rows(op.v, op.S, op.cache.kv_heads * op.cache.head_dim_v, op.v_stride), run(op.positions, ids(op.S)),
            run(op.cache.k, op.cache.k_bytes()), run(op.cache.v, op.cache.v_bytes())};
  }
  // A share of the splits writes some of scratch, and the rest keeps its values: so that is read too.
  std::vector<Region> operator()(const Attention& op) const {
    if (op.part == AttentionPart::merge) return {run(op.positions, ids(op.S)), scratch_of(op)};
    std::vector<Region> all{rows(op.q, op.S, op.heads * op.cache.head_dim, op.q_stride), run(op.positions, ids(op.S)),
                            run(op.cache.k, op.cache.k_bytes()), run(op.cache.v, op.cache.v_bytes())};
    if (op.part == AttentionPart::splits) all.push_back(scratch_of(op));
    return all;
  }
  std::vector<Region> operator()(const SwiGlu& op) const {
    return {rows(op.gate, op.S, op.I, op.gate_stride), rows(op.up, op.S, op.I, op.up_stride)};
  }
  std::vector<Region> operator()(const Add& op) const {
    return {rows(op.x, op.S, op.width, op.x_stride), rows(op.y, op.S, op.width, op.y_stride)};
  }
  std::vector<Region> operator()(const Bias& op) const {
    return {rows(op.x, op.S, op.width, op.x_stride), run(op.bias, floats(op.width))};
  }
  std::vector<Region> operator()(const Softmax& op) const { return {rows(op.x, op.S, op.width, op.x_stride)}; }
  std::vector<Region> operator()(const ArgMax& op) const { return {rows(op.x, op.S, op.width, op.x_stride)}; }
  std::vector<Region> operator()(const TopK& op) const { return {rows(op.x, op.S, op.width, op.x_stride)}; }
};

struct Writes {
  std::vector<Region> operator()(const MatMul& op) const {
    return {rows(op.y.advanced(floats(op.row_begin)), op.S, op.row_end - op.row_begin, op.y_stride)};
  }
  std::vector<Region> operator()(const Embed& op) const { return {rows(op.y, op.S, op.H, op.H)}; }
  std::vector<Region> operator()(const RmsNorm& op) const {
    const int64_t width = op.groups * op.width;
    std::vector<Region> all{rows(op.y, op.S, width, op.y_stride)};
    if (op.add) all.push_back(rows(op.x, op.S, width, op.x_stride));
    return all;
  }
  std::vector<Region> operator()(const Rope& op) const {
    return {rows(op.x, op.S, op.heads * op.head_dim, op.x_stride)};
  }
  std::vector<Region> operator()(const KvAppend& op) const {
    return {run(op.cache.k, op.cache.k_bytes()), run(op.cache.v, op.cache.v_bytes())};
  }
  std::vector<Region> operator()(const Attention& op) const {
    if (op.part == AttentionPart::splits) return {scratch_of(op)};
    std::vector<Region> all{rows(op.y, op.S, op.heads * op.cache.head_dim_v, op.y_stride)};
    if (op.scratch && op.part == AttentionPart::whole) all.push_back(scratch_of(op));
    return all;
  }
  std::vector<Region> operator()(const SwiGlu& op) const { return {rows(op.y, op.S, op.I, op.y_stride)}; }
  std::vector<Region> operator()(const Add& op) const { return {rows(op.x, op.S, op.width, op.x_stride)}; }
  std::vector<Region> operator()(const Bias& op) const { return {rows(op.x, op.S, op.width, op.x_stride)}; }
  std::vector<Region> operator()(const Softmax& op) const { return {rows(op.x, op.S, op.width, op.x_stride)}; }
  std::vector<Region> operator()(const ArgMax& op) const { return {run(op.ids, ids(op.S))}; }
  std::vector<Region> operator()(const TopK& op) const {
    return {run(op.ids, ids(op.S * op.k)), run(op.values, floats(op.S * op.k))};
  }
};

void check(const Operator& op, const Region& region) {
  if (region.rows == 0 || region.width_bytes == 0) return;
  const std::string on = op.name + " (" + kind_name(op) + ")";
  if (!region.at) throw Error("an operand is absent", on, "a shape-only model cannot run");
  const size_t end = end_of(region);
  if (end > region.at.slot->size_bytes())
    throw Error("an operand leaves its slot", on + ", slot " + region.at.slot->label() + ": byte " +
                                                  std::to_string(end) + " of " +
                                                  std::to_string(region.at.slot->size_bytes()));
}

}  // namespace

bool overlaps(const Region& a, const Region& b) {
  if (is_empty(a) || is_empty(b) || a.at.slot != b.at.slot) return false;
  if (end_of(a) <= b.at.offset_bytes || end_of(b) <= a.at.offset_bytes) return false;
  // Two column ranges of one matrix: same pitch, disjoint columns.
  const bool strided = (a.rows > 1 || b.rows > 1);
  const size_t pitch = a.rows > 1 ? a.pitch_bytes : b.pitch_bytes;
  const bool same_pitch = (a.rows == 1 || a.pitch_bytes == pitch) && (b.rows == 1 || b.pitch_bytes == pitch);
  if (!strided || !same_pitch || pitch == 0) return true;
  const size_t a_column = a.at.offset_bytes % pitch, b_column = b.at.offset_bytes % pitch;
  const bool wraps = a_column + a.width_bytes > pitch || b_column + b.width_bytes > pitch;
  if (wraps) return true;
  return a_column < b_column + b.width_bytes && b_column < a_column + a.width_bytes;
}

bool covers(const Region& outer, const Region& inner) {
  if (is_empty(outer) || is_empty(inner) || outer.at.slot != inner.at.slot) return false;
  const size_t first = outer.at.offset_bytes, begin = inner.at.offset_bytes;
  if (begin < first || end_of(inner) > end_of(outer)) return false;
  if (outer.rows == 1 || outer.width_bytes >= outer.pitch_bytes) return true;  // one run without gaps
  const size_t column = (begin - first) % outer.pitch_bytes;
  const bool same_rows = inner.rows == 1 || inner.pitch_bytes == outer.pitch_bytes;
  return same_rows && column + inner.width_bytes <= outer.width_bytes;
}

std::vector<Region> reads(const Operator& op) { return std::visit(Reads{}, op.body); }
std::vector<Region> writes(const Operator& op) { return std::visit(Writes{}, op.body); }

void check_regions(const Operator& op) {
  for (const Region& region : reads(op)) check(op, region);
  for (const Region& region : writes(op)) check(op, region);
}

}  // namespace tandem
