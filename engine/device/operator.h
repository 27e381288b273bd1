// Operators: plain values with resolved shapes. A slice of one is one, which is all that row- and sequence-cutting
// need.
//
// Conventions
//   Activations are f32, row-major [S, width] with a stride in elements between rows; S tokens. Ids and positions are
//   int32. `round_f16`: every value written is rounded to f16 (nearest even) and stored as f32; that is how --act f16
//   works: the producer of a matmul's input rounds it, so that every device multiplies the same numbers. Bit rules
//   (docs/numbers.md): for each output element the order of operations depends on nothing but the element's own inputs:
//   not on S, not on the slice, not on the number of work-items. Offsets of Operands are multiples of 4 bytes; weights'
//   and caches' are multiples of 64.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/tensor/operand.h"
#include "engine/tensor/packed.h"

namespace tandem {

// y[s, n] = sum over k of w[n, k] * x[s, k], one ascending fma chain, for n in [row_begin, row_end).
struct MatMul {
  int64_t S = 0, K = 0;
  int64_t row_begin = 0, row_end = 0;  // multiples of 64, or the last row
  PackedMatrix w;                      // [N, K]
  Operand x;                           // [S, K], stride x_stride
  Operand y;                           // [S, N] column 0 (not row_begin), stride y_stride
  int64_t x_stride = 0, y_stride = 0;
};

// y[s, :] = w[ids[s], :] decoded.
struct Embed {
  int64_t S = 0, H = 0;
  PackedMatrix w;  // [vocabulary, H]
  Operand ids;     // int32 [S]
  Operand y;       // [S, H], dense
};

// For each token s and group g, over the `width` values v at x[s*x_stride + g*width ...]:
//   if add: v += add[s*add_stride + g*width ...], written back to x (the residual connection)
//   y[s*y_stride + g*width + i] = v[i] / sqrt(mean(v^2) + eps) * (weight[i] + weight_offset)
// y may be x. groups > 1: one norm per attention head (weight is shared by the groups).
struct RmsNorm {
  int64_t S = 0, groups = 1, width = 0;
  Operand x, y;
  int64_t x_stride = 0, y_stride = 0;
  Operand add;  // optional
  int64_t add_stride = 0;
  Operand weight;           // f32 [width]
  float weight_offset = 0;  // 0, or 1 for models that store weight - 1
  float eps = 1e-5f;
  bool round_f16 = false;
};

enum class RopeLayout : uint8_t {
  interleaved,  // pairs (2i, 2i+1)      "norm" in the field
  halves,       // pairs (i, i + rot/2)  "neox"
};

// Rotates in place the first rot_dim values of each of `heads` heads of x (q or k). The table holds cos and sin per
// position, frequency factors and scaling already in it (engine/model/rope.h): [positions, rot_dim/2, 2] f32.
struct Rope {
  int64_t S = 0, heads = 0, head_dim = 0, rot_dim = 0;
  RopeLayout layout = RopeLayout::halves;
  Operand x;  // [S, heads * head_dim], stride x_stride
  int64_t x_stride = 0;
  Operand positions;  // int32 [S]
  Operand table;
  int64_t table_positions = 0;
};

enum class KvType : uint8_t { f16, f32 };

// The KV cache of one layer. Element type by `type`; capacity is a multiple of 64 positions.
//   k: [kv_heads][capacity/16][head_dim][16]  (16 positions are the lanes)   v: [kv_heads][capacity][head_dim_v]
struct KvCache {
  KvType type = KvType::f16;
  int64_t kv_heads = 0, head_dim = 0, head_dim_v = 0, capacity = 0;
  Operand k, v;
  size_t element_bytes() const { return type == KvType::f16 ? 2 : 4; }
  size_t k_bytes() const { return static_cast<size_t>(kv_heads * capacity * head_dim) * element_bytes(); }
  size_t v_bytes() const { return static_cast<size_t>(kv_heads * capacity * head_dim_v) * element_bytes(); }
};

// Writes token s's k and v (rounded to the cache's type) to position positions[s], and nothing else of the cache.
struct KvAppend {
  int64_t S = 0;
  Operand k, v;  // [S, kv_heads * head_dim], strides k_stride, v_stride
  int64_t k_stride = 0, v_stride = 0;
  Operand positions;  // int32 [S], strictly ascending
  KvCache cache;
};

inline constexpr int64_t kAttentionSplit = 256;  // positions of one split of the cache; part of the bit rules
inline constexpr int64_t kAttentionShares = 16;  // what the splits of a cache can be shared out in

// An attention can be done in two steps, the first of them by several devices: each computes some of the cache's
// splits, and what they found is merged in ascending order, as the whole does it.
enum class AttentionPart : uint8_t {
  whole,   // y
  splits,  // of a share of the splits each query's maximum, sum and values, to their places in scratch
  merge,   // y, of what is in scratch for all splits
};

// Causal attention over the cache: token s sees positions 0 .. positions[s]. Query head h reads KV head h / (heads /
// kv_heads).
//   score_p = scale * (q . k_p), y = sum_p softmax(score)_p * v_p, all sums f32 in an order that depends only on
//   absolute positions.
struct Attention {
  int64_t S = 0, heads = 0;
  Operand q;  // [S, heads * head_dim], stride q_stride
  int64_t q_stride = 0;
  Operand y;  // [S, heads * head_dim_v], stride y_stride
  int64_t y_stride = 0;
  Operand positions;  // int32 [S], strictly ascending
  KvCache cache;
  float scale = 1;
  bool round_f16 = false;
  Operand
      scratch;  // device_local, attention_scratch_bytes(); used by parts, and when the cache is split over work-items
  AttentionPart part = AttentionPart::whole;
  int64_t share_begin = 0, share_end = kAttentionShares;  // of part `splits`: see splits_of()
};
size_t attention_scratch_bytes(int64_t S, int64_t heads, int64_t head_dim_v, int64_t capacity);

// The splits [begin, end) that part `splits` computes when the batch's last token is at `last`: of the n splits that it
// sees those from n * share_begin / kAttentionShares to n * share_end / kAttentionShares, rounded down. Positions are
// known only when the operator runs, so a share stays the same as the context grows.
struct SplitRange {
  int64_t begin = 0, end = 0;
};
SplitRange splits_of(const Attention& op, int64_t last);

// y = gate / (1 + exp(-gate)) * up
struct SwiGlu {
  int64_t S = 0, I = 0;
  Operand gate, up;  // [S, I], strides
  int64_t gate_stride = 0, up_stride = 0;
  Operand y;  // [S, I], stride y_stride
  int64_t y_stride = 0;
  bool round_f16 = false;
};

// x[s, i] += y[s, i]
struct Add {
  int64_t S = 0, width = 0;
  Operand x, y;
  int64_t x_stride = 0, y_stride = 0;
};

// x[s, i] += bias[i]
struct Bias {
  int64_t S = 0, width = 0;
  Operand x;
  int64_t x_stride = 0;
  Operand bias;  // f32 [width]
};

// In place, over each row.
struct Softmax {
  int64_t S = 0, width = 0;
  Operand x;
  int64_t x_stride = 0;
};

// ids[s] = index of the largest value of row s, the lowest index of equals.
struct ArgMax {
  int64_t S = 0, width = 0;
  Operand x;
  int64_t x_stride = 0;
  Operand ids;  // int32 [S]
};

// The k largest values of each row, falling; of equals the lowest index first.
struct TopK {
  int64_t S = 0, width = 0, k = 0;  // k <= 64
  Operand x;
  int64_t x_stride = 0;
  Operand ids;     // int32 [S, k]
  Operand values;  // f32 [S, k]
};

using OperatorBody =
    std::variant<MatMul, Embed, RmsNorm, Rope, KvAppend, Attention, SwiGlu, Add, Bias, Softmax, ArgMax, TopK>;

struct Operator {
  std::string name;  // "blk.3.attn_qkv": for timelines and errors
  OperatorBody body;
};

const char* kind_name(const Operator& op);  // "matmul", "rms_norm", ...
int64_t tokens_of(const Operator& op);      // S

// A place an operator touches: rows x width_bytes, row_pitch_bytes apart (rows = 1: one run). Devices without shared
// memory copy these.
struct Region {
  Operand at;
  int64_t rows = 1;
  size_t width_bytes = 0, pitch_bytes = 0;
};
// True when writing `a` could touch bytes of `b`: column ranges of one matrix are told apart; other rows that lie
// between each other are taken to overlap.
bool overlaps(const Region& a, const Region& b);
// True when every byte of `inner` is one of `outer`'s. False where rows of another pitch would have to be compared one
// by one, though they may be.
bool covers(const Region& outer, const Region& inner);
std::vector<Region> reads(const Operator& op);
std::vector<Region> writes(const Operator& op);
void check_regions(const Operator& op);  // Error when an operand is absent or leaves its slot

struct Work {
  double flops = 0,
         bytes = 0;  // multiply and add count as two; bytes: weights, activations and cache read and written once
};
// Slices; they compute the same bits as the whole. Error when the cut does not fit.
//   slice_rows: output rows [begin, end), counted as row_begin and row_end are; multiples of 64, or the operator's last
//   row. slice_tokens: tokens [begin, end) of the operator's S; x, y, positions, ids and scratch advance. slice_heads:
//   KV heads [begin, end) and the query heads that read them; q, y, cache and scratch advance. slice_splits: a share of
//   the splits, of an attention with scratch; all shares of it, then merge_of(), write what it writes. Parts of an
//   attention have no slices of tokens: what a share is depends on the last token.
MatMul slice_rows(const MatMul& op, int64_t begin, int64_t end);
Operator slice_tokens(const Operator& op, int64_t begin, int64_t end);
Attention slice_heads(const Attention& op, int64_t kv_begin, int64_t kv_end);
Attention slice_splits(const Attention& op, int64_t share_begin, int64_t share_end);
Attention merge_of(const Attention& op);

Work work(const Operator& op);  // attention: with a full cache of positions unknown, counts `capacity / 2`

}  // namespace tandem
