#include "engine/device/operator.h"

#include "sync/error.h"

namespace tandem {
namespace {

constexpr size_t kFloat = sizeof(float), kId = sizeof(int32_t);

size_t floats(int64_t count) { return static_cast<size_t>(count) * kFloat; }

struct KindName {
  const char* operator()(const MatMul&) const { return "matmul"; }
  const char* operator()(const Embed&) const { return "embed"; }
  const char* operator()(const RmsNorm&) const { return "rms_norm"; }
  const char* operator()(const Rope&) const { return "rope"; }
  const char* operator()(const KvAppend&) const { return "kv_append"; }
  const char* operator()(const Attention& op) const {
    return op.part == AttentionPart::merge ? "attention_merge" : "attention";
  }
  const char* operator()(const SwiGlu&) const { return "swiglu"; }
  const char* operator()(const Add&) const { return "add"; }
  const char* operator()(const Bias&) const { return "bias"; }
  const char* operator()(const Softmax&) const { return "softmax"; }
  const char* operator()(const ArgMax&) const { return "argmax"; }
  const char* operator()(const TopK&) const { return "top_k"; }
};

double share_of(const Attention& op) {
  return static_cast<double>(op.share_end - op.share_begin) / static_cast<double>(kAttentionShares);
}

// Flops alone; a transcendental, a division or a root counts as one.
struct Flops {
  double operator()(const MatMul& op) const { return 2.0 * op.S * op.K * (op.row_end - op.row_begin); }
  double operator()(const Embed&) const { return 0; }
  double operator()(const RmsNorm& op) const { return (op.add ? 5.0 : 4.0) * op.S * op.groups * op.width; }
  double operator()(const Rope& op) const { return 3.0 * op.S * op.heads * op.rot_dim; }
  double operator()(const KvAppend&) const { return 0; }
  double operator()(const Attention& op) const {
    if (op.part == AttentionPart::merge) return 2.0 * op.S * op.heads * op.cache.head_dim_v;
    const double positions = op.cache.capacity / 2.0 * share_of(op);
    return op.S * op.heads * positions * (2.0 * (op.cache.head_dim + op.cache.head_dim_v) + 4.0);
  }
  double operator()(const SwiGlu& op) const { return 5.0 * op.S * op.I; }
  double operator()(const Add& op) const { return 1.0 * op.S * op.width; }
  double operator()(const Bias& op) const { return 1.0 * op.S * op.width; }
  double operator()(const Softmax& op) const { return 4.0 * op.S * op.width; }
  double operator()(const ArgMax& op) const { return 1.0 * op.S * op.width; }
  double operator()(const TopK& op) const { return 1.0 * op.S * op.width; }
};

double total(const std::vector<Region>& regions) {
  double bytes = 0;
  for (const Region& region : regions) bytes += static_cast<double>(region.rows) * region.width_bytes;
  return bytes;
}

// Only what is touched of the tables and caches that Region names as a whole.
double touched_bytes(const Operator& op) {
  if (const auto* embed = std::get_if<Embed>(&op.body)) {
    const double row = static_cast<double>(panel_bytes(embed->w.format, embed->w.columns)) / kPanelRows;
    return embed->S * (row + kId + floats(embed->H));
  }
  if (const auto* rope = std::get_if<Rope>(&op.body))
    return rope->S * (2.0 * floats(rope->heads * rope->rot_dim) + kId + floats(rope->rot_dim));
  if (const auto* append = std::get_if<KvAppend>(&op.body)) {
    const double values = append->cache.kv_heads * (append->cache.head_dim + append->cache.head_dim_v);
    return append->S * (values * (kFloat + append->cache.element_bytes()) + kId);
  }
  if (const auto* attention = std::get_if<Attention>(&op.body)) {
    const KvCache& cache = attention->cache;
    if (attention->part == AttentionPart::merge)
      return 2.0 * attention->S * floats(attention->heads * cache.head_dim_v);
    return attention->S * (floats(attention->heads * (cache.head_dim + cache.head_dim_v)) + kId) +
           (cache.k_bytes() + cache.v_bytes()) / 2.0 * share_of(*attention);
  }
  return total(reads(op)) + total(writes(op));
}

void advance(Operand& operand, int64_t elements) {
  if (operand) operand = operand.advanced(floats(elements));
}

struct SliceTokens {
  int64_t begin, count;

  void operator()(MatMul& op) const {
    op.S = count;
    advance(op.x, begin * op.x_stride);
    advance(op.y, begin * op.y_stride);
  }
  void operator()(Embed& op) const {
    op.S = count;
    advance(op.ids, begin);
    advance(op.y, begin * op.H);
  }
  void operator()(RmsNorm& op) const {
    op.S = count;
    advance(op.x, begin * op.x_stride);
    advance(op.y, begin * op.y_stride);
    advance(op.add, begin * op.add_stride);
  }
  void operator()(Rope& op) const {
    op.S = count;
    advance(op.x, begin * op.x_stride);
    advance(op.positions, begin);
  }
  void operator()(KvAppend& op) const {
    op.S = count;
    advance(op.k, begin * op.k_stride);
    advance(op.v, begin * op.v_stride);
    advance(op.positions, begin);
  }
  void operator()(Attention& op) const {
    op.S = count;
    advance(op.q, begin * op.q_stride);
    advance(op.y, begin * op.y_stride);
    advance(op.positions, begin);
    const size_t skipped = attention_scratch_bytes(begin, op.heads, op.cache.head_dim_v, op.cache.capacity);
    if (op.scratch) op.scratch = op.scratch.advanced(skipped);
  }
  void operator()(SwiGlu& op) const {
    op.S = count;
    advance(op.gate, begin * op.gate_stride);
    advance(op.up, begin * op.up_stride);
    advance(op.y, begin * op.y_stride);
  }
  void operator()(Add& op) const {
    op.S = count;
    advance(op.x, begin * op.x_stride);
    advance(op.y, begin * op.y_stride);
  }
  void operator()(Bias& op) const {
    op.S = count;
    advance(op.x, begin * op.x_stride);
  }
  void operator()(Softmax& op) const {
    op.S = count;
    advance(op.x, begin * op.x_stride);
  }
  void operator()(ArgMax& op) const {
    op.S = count;
    advance(op.x, begin * op.x_stride);
    advance(op.ids, begin);
  }
  void operator()(TopK& op) const {
    op.S = count;
    advance(op.x, begin * op.x_stride);
    advance(op.ids, begin * op.k);
    advance(op.values, begin * op.k);
  }
};

}  // namespace

const char* kind_name(const Operator& op) { return std::visit(KindName{}, op.body); }
int64_t tokens_of(const Operator& op) {
  return std::visit([](const auto& body) { return body.S; }, op.body);
}
Work work(const Operator& op) { return {std::visit(Flops{}, op.body), touched_bytes(op)}; }

// Per token, head and split: the running maximum, the sum and head_dim_v accumulators, padded to whole 64-byte lines.
size_t attention_scratch_bytes(int64_t S, int64_t heads, int64_t head_dim_v, int64_t capacity) {
  const int64_t splits = (capacity + kAttentionSplit - 1) / kAttentionSplit;
  const int64_t padded = (2 + head_dim_v + 15) / 16 * 16;
  return floats(S * heads * splits * padded);
}

MatMul slice_rows(const MatMul& op, int64_t begin, int64_t end) {
  const bool fits = op.row_begin <= begin && begin <= end && end <= op.row_end && begin % kPanelRows == 0 &&
                    (end % kPanelRows == 0 || end == op.row_end);
  if (!fits)
    throw Error("a row slice does not fit its matmul",
                "rows " + std::to_string(begin) + ".." + std::to_string(end) + " of " + std::to_string(op.row_begin) +
                    ".." + std::to_string(op.row_end),
                "cut at multiples of 64 rows");
  MatMul slice = op;
  slice.row_begin = begin;
  slice.row_end = end;
  return slice;
}

Attention slice_heads(const Attention& op, int64_t kv_begin, int64_t kv_end) {
  const KvCache& cache = op.cache;
  if (kv_begin < 0 || kv_begin > kv_end || kv_end > cache.kv_heads)
    throw Error("a head slice does not fit its attention", "KV heads " + std::to_string(kv_begin) + ".." +
                                                               std::to_string(kv_end) + " of " +
                                                               std::to_string(cache.kv_heads));
  const int64_t group = op.heads / cache.kv_heads, first = kv_begin * group;
  const auto cached = static_cast<size_t>(kv_begin * cache.capacity) * cache.element_bytes();
  Attention slice = op;
  slice.heads = (kv_end - kv_begin) * group;
  slice.cache.kv_heads = kv_end - kv_begin;
  advance(slice.q, first * cache.head_dim);
  advance(slice.y, first * cache.head_dim_v);
  if (op.cache.k) slice.cache.k = cache.k.advanced(cached * static_cast<size_t>(cache.head_dim));
  if (op.cache.v) slice.cache.v = cache.v.advanced(cached * static_cast<size_t>(cache.head_dim_v));
  if (op.scratch)
    slice.scratch = op.scratch.advanced(attention_scratch_bytes(op.S, first, cache.head_dim_v, cache.capacity));
  return slice;
}

SplitRange splits_of(const Attention& op, int64_t last) {
  const int64_t splits = last / kAttentionSplit + 1;
  return {splits * op.share_begin / kAttentionShares, splits * op.share_end / kAttentionShares};
}

Attention slice_splits(const Attention& op, int64_t share_begin, int64_t share_end) {
  TANDEM_CHECK(op.part == AttentionPart::whole, "only a whole attention is cut by its splits");
  TANDEM_CHECK(0 <= share_begin && share_begin <= share_end && share_end <= kAttentionShares,
               "a share of an attention's splits");
  Attention part = op;
  part.part = AttentionPart::splits;
  part.share_begin = share_begin;
  part.share_end = share_end;
  return part;
}

Attention merge_of(const Attention& op) {
  TANDEM_CHECK(op.part == AttentionPart::whole, "only a whole attention is merged of its splits");
  Attention part = op;
  part.part = AttentionPart::merge;
  return part;
}

Operator slice_tokens(const Operator& op, int64_t begin, int64_t end) {
  const int64_t S = tokens_of(op);
  if (const auto* attention = std::get_if<Attention>(&op.body))
    TANDEM_CHECK(attention->part == AttentionPart::whole, op.name + ": a part of an attention has no slice of tokens");
  if (begin < 0 || begin > end || end > S)
    throw Error("a token slice does not fit its operator", op.name + ": tokens " + std::to_string(begin) + ".." +
                                                               std::to_string(end) + " of " + std::to_string(S));
  Operator slice = op;
  std::visit(SliceTokens{begin, end - begin}, slice.body);
  return slice;
}

}  // namespace tandem
