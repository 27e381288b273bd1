// Attention: one launch over the whole cache, or one per split of the cache and a merge when the queries alone do not
// fill the device. Both give the same bits.
#include "engine/device/gpu/launch.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

std::vector<KernelLaunch> lower_attention(const Attention& op, const LoweringContext& context) {
  const KvCache& cache = op.cache;
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && op.heads > 0 && cache.kv_heads > 0 && cache.head_dim > 0 && cache.head_dim_v > 0,
               "attention of nothing");
  TANDEM_CHECK(op.heads % cache.kv_heads == 0,
               std::to_string(op.heads) + " heads over " + std::to_string(cache.kv_heads) + " KV heads");
  TANDEM_CHECK(cache.capacity > 0 && cache.capacity % 64 == 0, "cache capacity: " + std::to_string(cache.capacity));
  const bool simt = context.family == KernelFamily::simt;
  const int64_t group = op.heads / cache.kv_heads, queries = op.S * group;
  // Queries of a KV head that share the loads of K and V; in decode one token's group of heads.
  const int64_t tile = std::min<int64_t>(queries, simt ? 4 : 8);
  const auto kv_heads = static_cast<size_t>(cache.kv_heads);
  const size_t tiles = ceil_div(queries, tile), splits = ceil_div(cache.capacity, kAttentionSplit);
  const size_t wanted =
      simt ? 4 * static_cast<size_t>(context.compute_units) : static_cast<size_t>(context.compute_units);
  const bool split = op.scratch && splits > 1 && context.compute_units > 1 && tiles * kv_heads < 2 * wanted;

  KernelLaunch launch;
  launch.source = in_family("attention", context.family);
  launch.options = define("HEAD_DIM", cache.head_dim) + " " + define("HEAD_DIM_V", cache.head_dim_v) + " " +
                   define("KV_F16", cache.type == KvType::f16) + " " + define("TILE", tile) + " " +
                   define("SPLIT", kAttentionSplit) + " " + define("ROUND_F16", op.round_f16);
  const size_t local = simt ? kWorkGroup : 1;
  launch.local = {local, 1, 1};
  const std::vector<Arg> cache_args = {BufferArg{op.positions}, BufferArg{cache.k}, BufferArg{cache.v}};
  if (!split) {
    launch.kernel = launch.source;
    launch.args = {BufferArg{op.q}, BufferArg{op.y, true}};
    launch.args.insert(launch.args.end(), cache_args.begin(), cache_args.end());
    launch.args.insert(launch.args.end(), {narrow(op.S), narrow(group), narrow(cache.capacity), narrow(op.q_stride),
                                           narrow(op.y_stride), op.scale});
    launch.global = {tiles * local, kv_heads, 1};
    return {launch};
  }

  KernelLaunch merge = launch;
  launch.kernel = in_family("attention_split", context.family);
  launch.args = {BufferArg{op.q}};
  launch.args.insert(launch.args.end(), cache_args.begin(), cache_args.end());
  launch.args.insert(launch.args.end(), {BufferArg{op.scratch, true}, narrow(op.S), narrow(group),
                                         narrow(cache.capacity), narrow(op.q_stride), op.scale});
  launch.global = {tiles * local, kv_heads, splits};
  merge.kernel = in_family("attention_merge", context.family);
  merge.args = {BufferArg{op.y, true},
                BufferArg{op.positions},
                BufferArg{op.scratch},
                narrow(op.heads),
                narrow(static_cast<int64_t>(splits)),
                narrow(op.y_stride)};
  merge.global = {static_cast<size_t>(op.S * op.heads) * local, 1, 1};
  return {launch, merge};
}

}  // namespace tandem::gpu
