// Norms of query and key heads, their rotation, and the append of keys and values, in one launch. Some models have no
// norms of heads.
#include <utility>

#include "engine/device/gpu/fused.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {
namespace {

// The operators, in the order of the program.
struct Parts {
  const RmsNorm *q_norm = nullptr, *k_norm = nullptr;  // both or none
  const Rope* rope = nullptr;
  const KvAppend* append = nullptr;
  size_t count = 0;
};

Parts parts_of(std::span<const Operator> rest) {
  Parts parts;
  const auto next = [&]<typename Op>(const Op*& op) {
    if (parts.count < rest.size()) op = std::get_if<Op>(&rest[parts.count].body);
    if (op != nullptr) ++parts.count;
  };
  next(parts.q_norm);
  if (parts.q_norm != nullptr) next(parts.k_norm);
  next(parts.rope);
  if (parts.rope != nullptr) next(parts.append);
  return parts;
}

// Whether the norm is one of `heads` heads at x, in place, without any of the additions that norms of rows have.
bool is_plain_norm_of_heads(const RmsNorm& norm, const Operand& x, int64_t heads, const Rope& rope) {
  return norm.S == rope.S && norm.x == x && norm.y == x && norm.x_stride == rope.x_stride &&
         norm.y_stride == rope.x_stride && norm.groups == heads && norm.width == rope.head_dim && !norm.add &&
         !norm.centred && !norm.biased && !norm.round_f16 && !norm.own_weights;
}

// Whether no value is a part of a head: a group reads its values while others write their heads. Values may lie behind
// the heads in the same rows.
bool are_apart(const Rope& rope, const KvAppend& append) {
  const size_t heads = bytes_of_floats(rope.heads * rope.head_dim), row = bytes_of_floats(rope.x_stride),
               values = bytes_of_floats(append.cache.kv_heads * append.cache.head_dim_v);
  const size_t begin = rope.x.offset_bytes, at = append.v.offset_bytes;
  if (append.v.slot == rope.x.slot && append.v_stride == rope.x_stride && at >= begin + heads &&
      at + values <= begin + row)
    return true;
  return !overlaps({rope.x, rope.S, heads, row}, {append.v, append.S, values, bytes_of_floats(append.v_stride)});
}

bool fits(const Parts& parts) {
  if (parts.append == nullptr || (parts.q_norm == nullptr) != (parts.k_norm == nullptr)) return false;
  const Rope& rope = *parts.rope;
  const KvAppend& append = *parts.append;
  const KvCache& cache = append.cache;
  const int64_t heads = rope.heads - cache.kv_heads;
  if (!rope.x || heads <= 0 || rope.S != append.S || rope.positions != append.positions) return false;
  const Operand keys = rope.x.advanced(bytes_of_floats(heads * rope.head_dim));
  if (append.k != keys || append.k_stride != rope.x_stride || cache.head_dim != rope.head_dim) return false;
  if (!are_apart(rope, append)) return false;
  return parts.q_norm == nullptr || (is_plain_norm_of_heads(*parts.q_norm, rope.x, heads, rope) &&
                                     is_plain_norm_of_heads(*parts.k_norm, keys, cache.kv_heads, rope));
}

}  // namespace

// A group takes one head of queries, or one of keys with its values.
std::optional<LoweredRun> fuse_rope_append(std::span<const Operator> rest, const LoweringContext& context) {
  const Parts parts = parts_of(rest);
  if (!fits(parts)) return std::nullopt;
  const Rope& rope = *parts.rope;
  const KvAppend& append = *parts.append;
  const CacheArguments places = cache_arguments(append);
  // Each operator's own lowering checks its sizes.
  lower_rope(rope, context);
  KernelLaunch launch = std::move(lower_kv_append(append, context).front());
  const bool has_norms = parts.q_norm != nullptr;
  const RmsNorm none;
  const RmsNorm &q_norm = has_norms ? *parts.q_norm : none, &k_norm = has_norms ? *parts.k_norm : none;
  launch.source = launch.kernel = in_family("rope_append", context.family);
  launch.options.append(" ").append(defines({{"HEAD_DIM", rope.head_dim},
                                             {"INTERLEAVED", rope.layout == RopeLayout::interleaved},
                                             {"HAS_NORMS", has_norms}}));
  launch.args = {BufferArg{rope.x, true}, BufferArg{q_norm.weight},  BufferArg{k_norm.weight},
                 BufferArg{append.v},     BufferArg{rope.positions}, BufferArg{rope.table}};
  append_to(launch.args, places.buffers);
  append_to(launch.args, {narrow(rope.heads - append.cache.kv_heads), narrow(rope.rot_dim), narrow(rope.x_stride),
                          narrow(append.v_stride)});
  append_to(launch.args, places.sizes);
  append_to(launch.args, {q_norm.weight_offset, k_norm.weight_offset, q_norm.eps, k_norm.eps});
  launch.global = {static_cast<size_t>(rope.heads) * kWorkGroup, static_cast<size_t>(rope.S), 1};
  launch.local = {kWorkGroup, 1, 1};
  launch.tokens = rope.S;
  launch.op = parts.count - 2;
  return LoweredRun{0, parts.count, only(std::move(launch))};
}

}  // namespace tandem::gpu
