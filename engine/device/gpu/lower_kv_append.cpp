// KvAppend: one launch for keys and values.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

CacheArguments cache_arguments(const KvAppend& op) {
  const Segments& segments = op.segments;
  return {{BufferArg{begins_argument(segments)}, BufferArg{segments.pages}, BufferArg{paths_argument(segments)},
           BufferArg{op.cache.k, true}, BufferArg{op.cache.v, true}},
          {narrow(op.cache.head_dim_v), narrow(segments.count), narrow(segments.first_token), narrow(segments.depth),
           narrow(pages_of(op.cache.capacity)), narrow(op.cache.pages)}};
}

// A simt work-item writes one element of a key and of a value, up to the wider of the two. In the simd family, a
// work-item or a group writes both rows of one token and KV head.
std::vector<KernelLaunch> lower_kv_append(const KvAppend& op, const LoweringContext& context) {
  const KvCache& cache = op.cache;
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && cache.kv_heads > 0 && cache.head_dim > 0 && cache.head_dim_v > 0, "kv_append of nothing");
  TANDEM_CHECK(cache.capacity > 0 && cache.capacity % 64 == 0, "cache capacity: " + std::to_string(cache.capacity));
  require_countable(std::max(cache.head_dim, cache.head_dim_v), TANDEM_MAX_HEAD_DIM, context, "a head of",
                    "kv_append S=" + std::to_string(op.S));
  require_countable(op.segments.count, TANDEM_MAX_SEGMENTS, context,
                    "segments of a batch:", "kv_append S=" + std::to_string(op.S));
  KernelLaunch launch;
  launch.source = launch.kernel = in_family("kv_append", context.family);
  launch.options = defines({{"KV_F16", cache.type == KvType::f16}, {"TREES", op.segments.depth > 0}});
  const CacheArguments places = cache_arguments(op);
  launch.args = {BufferArg{op.k}, BufferArg{op.v}, BufferArg{op.positions}};
  append_to(launch.args, places.buffers);
  append_to(launch.args, {narrow(op.k_stride), narrow(op.v_stride), narrow(cache.head_dim)});
  append_to(launch.args, places.sizes);
  const auto S = static_cast<size_t>(op.S), kv_heads = static_cast<size_t>(cache.kv_heads);
  if (context.family == KernelFamily::simt) {
    launch.global = {round_up(static_cast<size_t>(std::max(cache.head_dim, cache.head_dim_v)), kWorkGroup), S,
                     kv_heads};
    launch.local = {kWorkGroup, 1, 1};
  } else {
    launch.global = {S, kv_heads, 1};
  }
  return only(std::move(launch));
}

}  // namespace tandem::gpu
