// Attention: one launch over the whole cache, or one for each split of the cache and a merge. The second way is used
// when the queries alone do not fill the device. It is also used when a driver's limit of loop iterations is too
// tight for the whole cache. Both ways give the same bits. A part of an attention is one of the two launches of the
// second way.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {
namespace {

std::string describe(const Attention& op) {
  return "attention S=" + std::to_string(op.S) + " heads " + std::to_string(op.heads) + "/" +
         std::to_string(op.cache.kv_heads) + " of " + std::to_string(op.cache.head_dim) + "/" +
         std::to_string(op.cache.head_dim_v) + ", capacity " + std::to_string(op.cache.capacity) +
         (op.segments.count > 1 ? ", segments " + std::to_string(op.segments.count) : "") +
         (op.segments.depth > 0 ? ", trees" : "");
}

// The queries of a KV head that share the loads of K and V; in decode, one token's group of heads. Simt kernels and
// all shaders keep the queries, scores and sums in shared memory (shaders/attention.glsl). Error when one query does
// not fit.
int64_t queries_of_tile(const Attention& op, int64_t queries, const LoweringContext& context) {
  const bool simt = context.family == KernelFamily::simt;
  // OpenCL's simd kernel keeps the queries in private memory, with at least one sum of each in registers. On a
  // processor where loads take the place of products, six queries with four sums each are fastest. But the queries of
  // one token had better share their loads.
  if (!simt && !context.shaders) {
    const int64_t most = context.vector_registers >= 32 ? 8 : 6;
    const bool whole = queries <= most || queries == op.heads / op.cache.kv_heads;
    return std::min<int64_t>(queries, whole || !context.processor.loads_cost_products ? most : 6);
  }
  constexpr int64_t kFloat = sizeof(float), kMaxTile = 8, kSums = 64 + 8;
  const int64_t tile = std::min(queries, kMaxTile);
  const int64_t query_bytes =
      kFloat * (ceil_div(op.cache.head_dim, 4) * 4 + kAttentionSplit + op.cache.head_dim_v + kSums);
  const int64_t room =
      static_cast<int64_t>(context.local_memory_bytes) - kFloat * (7 * kMaxTile + static_cast<int64_t>(kWorkGroup));
  if (query_bytes > room) {
    throw Error("heads need " + std::to_string(query_bytes) + " bytes of shared memory for one query, there are " +
                    std::to_string(std::max<int64_t>(room, 0)),
                describe(op), "use another device for it");
  }
  return std::min(tile, room / query_bytes);
}

// The mean number of queries of a segment. A list's kernel should know only two numbers, whatever a pass's tokens are:
// the queries of one token, and those of more.
int64_t queries_at_once(const Attention& op, int64_t group, const LoweringContext& context) {
  if (op.S == 1 || op.S > context.listed_tokens) return mean_queries(op.segments, op.S, group);
  return op.segments.count > 1 || op.segments.depth > 0 ? group : context.listed_tokens * group;
}

// Kernels without SINKS do not read it.
const Operand& sinks_argument(const Attention& op) { return op.has_sinks ? op.sinks : op.positions; }
// Likewise without SLOPES.
const Operand& slopes_argument(const Attention& op) { return op.has_slopes ? op.slopes : op.positions; }
const Operand& token_positions_argument(const Attention& op) {
  return op.has_slopes ? op.token_positions : op.positions;
}

// Whether every split of the cache gets its own work-group, so that a second launch merges the results.
bool is_split(const Attention& op, size_t tiles, const LoweringContext& context) {
  const auto splits = static_cast<size_t>(pages_of(op.cache.capacity));
  const bool counted = context.loop_budget > 0 && splits > TANDEM_MAX_SPLITS_IN_TURN;
  if (counted && !op.scratch) {
    throw Error("a cache of more than " + std::to_string(TANDEM_MAX_SPLITS_IN_TURN * kAttentionSplit) +
                    " positions needs scratch where a driver ends loops after " + std::to_string(context.loop_budget) +
                    " iterations",
                describe(op), "use another device for it, or a smaller --ctx-size");
  }
  if (counted) return true;
  const auto units = static_cast<size_t>(context.compute_units);
  const size_t wanted = context.family == KernelFamily::simt ? 4 * units : units;
  return op.scratch && splits > 1 && units > 1 && tiles * static_cast<size_t>(op.cache.kv_heads) < 2 * wanted;
}

}  // namespace

// Validates the operator, chooses the tile of queries and whether to split the cache. Then it makes the one launch over
// the whole cache, or the launches of the splits and the merge, of which a part takes one.
std::vector<KernelLaunch> lower_attention(const Attention& op, const LoweringContext& context) {
  const KvCache& cache = op.cache;
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && op.heads > 0 && cache.kv_heads > 0 && cache.head_dim > 0 && cache.head_dim_v > 0,
               "attention of nothing");
  TANDEM_CHECK(op.heads % cache.kv_heads == 0,
               std::to_string(op.heads) + " heads over " + std::to_string(cache.kv_heads) + " KV heads");
  TANDEM_CHECK(cache.capacity > 0 && cache.capacity % 64 == 0, "cache capacity: " + std::to_string(cache.capacity));
  const auto object = [&op] { return describe(op); };
  require_countable(std::max(cache.head_dim, cache.head_dim_v), TANDEM_MAX_HEAD_DIM, context, "a head of", object);
  require_countable(cache.capacity, TANDEM_MAX_POSITIONS, context, "a cache of", object);
  require_countable(op.segments.count, TANDEM_MAX_SEGMENTS, context, "segments of a batch:", object);
  const bool simt = context.family == KernelFamily::simt;
  const int64_t group = op.heads / cache.kv_heads;
  const int64_t tile = queries_of_tile(op, queries_at_once(op, group, context), context);
  const auto kv_heads = static_cast<size_t>(cache.kv_heads);
  const auto tiles = static_cast<size_t>(most_tiles(op.segments, op.S, group, tile));
  const int64_t splits = pages_of(cache.capacity);

  KernelLaunch launch;
  launch.source = in_family("attention", context.family);
  launch.options = defines({{"HEAD_DIM", cache.head_dim},
                            {"HEAD_DIM_V", cache.head_dim_v},
                            {"KV_F16", cache.type == KvType::f16},
                            {"TILE", tile},
                            {"SPLIT", kAttentionSplit},
                            {"SHARES", kAttentionShares},
                            {"ROUND_F16", op.round_f16},
                            {"TREES", op.segments.depth > 0}});
  if (op.has_sinks && op.part != AttentionPart::splits) launch.options += " -DSINKS=1";
  if (op.has_slopes && op.part != AttentionPart::merge) launch.options += " -DSLOPES=1";
  if (!simt && !context.shaders) {
    launch.options.append(" ").append(define("REGISTERS", context.vector_registers));
    if (context.vector_registers >= 32 && context.processor.loads_cost_products) launch.options += " -DCHAINS=24";
  }
  // Without a window the largest number serves as one, so kernels have one form for both.
  const int32_t window = op.window > 0   ? narrow(op.window)
                         : op.window < 0 ? -narrow(-op.window)
                                         : std::numeric_limits<int32_t>::max();
  const size_t local = simt ? kWorkGroup : 1;
  launch.local = {local, 1, 1};
  const std::vector<Arg> cache_args = {BufferArg{op.positions},      BufferArg{begins_argument(op.segments)},
                                       BufferArg{op.segments.pages}, BufferArg{paths_argument(op.segments)},
                                       BufferArg{cache.k},           BufferArg{cache.v}};
  // One launch: each group goes through the splits in turn and merges them itself.
  if (op.part == AttentionPart::whole && !is_split(op, tiles, context)) {
    launch.kernel = launch.source;
    launch.args = {BufferArg{op.q}, BufferArg{op.y, true}};
    launch.args.insert(launch.args.end(), cache_args.begin(), cache_args.end());
    launch.args.insert(launch.args.end(),
                       {BufferArg{sinks_argument(op)}, BufferArg{slopes_argument(op)},
                        BufferArg{token_positions_argument(op)}, narrow(op.S), narrow(group), narrow(op.segments.count),
                        narrow(op.segments.first_token), narrow(op.segments.depth), narrow(splits), narrow(cache.pages),
                        narrow(op.q_stride), narrow(op.y_stride), op.score.scale, op.score.soft_cap, window});
    launch.global = {tiles * local, kv_heads, 1};
    return only(std::move(launch));
  }

  // Two launches. The first one has a group for each tile, KV head and split. The second one has a group for each query
  // and merges the query's splits in ascending order.
  KernelLaunch merge = launch;
  launch.kernel = in_family("attention_split", context.family);
  launch.args = {BufferArg{op.q}};
  launch.args.insert(launch.args.end(), cache_args.begin(), cache_args.end());
  launch.args.insert(
      launch.args.end(),
      {BufferArg{op.scratch, true}, BufferArg{slopes_argument(op)}, BufferArg{token_positions_argument(op)},
       narrow(op.S), narrow(group), narrow(op.segments.count), narrow(op.segments.first_token),
       narrow(op.segments.depth), narrow(splits), narrow(cache.pages), narrow(op.q_stride), op.score.scale,
       op.score.soft_cap, narrow(op.share_begin), narrow(op.share_end), window});
  launch.global = {tiles * local, kv_heads, static_cast<size_t>(splits)};
  merge.kernel = in_family("attention_merge", context.family);
  merge.args = {BufferArg{op.y, true}, BufferArg{op.positions}, BufferArg{op.scratch}, BufferArg{sinks_argument(op)},
                narrow(op.heads),      narrow(splits),          narrow(op.y_stride),   window};
  merge.global = {static_cast<size_t>(op.S * op.heads) * local, 1, 1};
  if (op.part == AttentionPart::splits) return only(std::move(launch));
  if (op.part == AttentionPart::merge) return {merge};
  return {launch, merge};
}

}  // namespace tandem::gpu
