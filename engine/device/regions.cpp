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

size_t weight_bytes(const MatMul& op) {
  return static_cast<size_t>(panel_count(op.row_end) - op.row_begin / kPanelRows) *
         panel_bytes(op.w.format, op.w.columns);
}

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
  std::vector<Region> operator()(const Attention& op) const {
    return {rows(op.q, op.S, op.heads * op.cache.head_dim, op.q_stride), run(op.positions, ids(op.S)),
            run(op.cache.k, op.cache.k_bytes()), run(op.cache.v, op.cache.v_bytes())};
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
    std::vector<Region> all{rows(op.y, op.S, op.heads * op.cache.head_dim_v, op.y_stride)};
    if (op.scratch)
      all.push_back(run(op.scratch, attention_scratch_bytes(op.S, op.heads, op.cache.head_dim_v, op.cache.capacity)));
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
  const size_t end =
      region.at.offset_bytes + static_cast<size_t>(region.rows - 1) * region.pitch_bytes + region.width_bytes;
  if (end > region.at.slot->size_bytes())
    throw Error("an operand leaves its slot", on + ", slot " + region.at.slot->label() + ": byte " +
                                                  std::to_string(end) + " of " +
                                                  std::to_string(region.at.slot->size_bytes()));
}

}  // namespace

std::vector<Region> reads(const Operator& op) { return std::visit(Reads{}, op.body); }
std::vector<Region> writes(const Operator& op) { return std::visit(Writes{}, op.body); }

void check_regions(const Operator& op) {
  for (const Region& region : reads(op)) check(op, region);
  for (const Region& region : writes(op)) check(op, region);
}

}  // namespace tandem
