#include <algorithm>
#include <span>
#include <vector>

#include "engine/device/host/arithmetic.h"
#include "engine/device/processor.h"
#include "packed/loops/aligned.h"
#include "packed/loops/loops.h"
#include "packed/loops/matmul.h"
#include "sync/error.h"

namespace tandem::host {
namespace {

// Waking a sleeping thread costs 20 us or more. Below this many multiplications (about 200 us), one thread is faster.
constexpr double kWorthSharing = 4e6;

// The numeric contract: one call operator for each kind of operator. Small operators run on the device's thread alone,
// large ones share their parts among the workers.
struct Contract {
  const HostLoops& loops;
  Workers& workers;
  const PackedLoops& packed = *find_packed_loops(loops.set);

  // Calls part(begin, end, thread) over [0, count), on this thread alone when the work is small.
  template <typename Part>
  void share(double multiplications, int64_t count, const Part& part) const {
    if (multiplications < kWorthSharing)
      part(int64_t{0}, count, 0);
    else
      workers.run(count, part);
  }

  // Making the code of a value takes about as long as 8 products.
  static constexpr double kProductsOfCode = 8;
  AlignedArray<ActBlock> codes_of(const float* x, int64_t stride, int64_t S, int64_t K) const {
    const int64_t groups = K / kActGroup;
    AlignedArray<ActBlock> codes = aligned_array<ActBlock>(S * groups);
    share(kProductsOfCode * static_cast<double>(S * K), S, [&](int64_t begin, int64_t end, int) {
      for (int64_t s = begin; s < end; ++s) packed.act->quantise(x + s * stride, K, codes.get() + s * groups);
    });
    return codes;
  }

  // The shared parts are panels of 64 rows. Every thread has its own scratch.
  void operator()(const MatMul& op) const {
    const int64_t first = op.row_begin / kPanelRows, panels = panel_count(op.row_end) - first;
    const int64_t own = scratch_floats(op.S);
    const AlignedArray<float> scratch = aligned_array<float>(workers.threads() * own);
    const double multiplications = static_cast<double>(op.row_end - op.row_begin) * op.K * op.S;
    // The codes of all rows are made once, before the panels are shared.
    const AlignedArray<ActBlock> codes = op.act_i8 ? codes_of(op.x.as<float>(), op.x_stride, op.S, op.K) : nullptr;
    PackedProduct product{op.w.format, op.w.data.as<std::byte>(), op.S,       op.K,
                          op.row_end,  op.y.as<float>(),          op.y_stride};
    product.x = {op.x.as<float>(), op.x_stride};
    product.codes = codes.get();
    share(multiplications, panels, [&](int64_t begin, int64_t end, int thread) {
      multiply_panels(packed, product, first + begin, first + end, scratch.get() + thread * own);
    });
  }
  // Every group of a row is normalised by itself, and all groups have the same weights.
  void operator()(const RmsNorm& op) const {
    for (int64_t s = 0; s < op.S; ++s)
      for (int64_t g = 0; g < op.groups; ++g) {
        const int64_t at = g * op.width, of_group = op.own_weights ? at : 0;
        loops.rms_norm(
            {op.x.as<float>() + s * op.x_stride + at, op.add ? op.add.as<float>() + s * op.add_stride + at : nullptr,
             op.weight.as<float>() + of_group, op.y.as<float>() + s * op.y_stride + at, op.width, op.weight_offset,
             op.eps, op.round_f16, op.add_scale, op.centred, op.biased ? op.bias.as<float>() + of_group : nullptr});
      }
  }
  // The table has a row of rot_dim numbers for each position: a cosine and a sine for each pair of elements.
  void operator()(const Rope& op) const {
    check_positions(op.positions, op.S, op.table_positions, "rotation table");
    for (int64_t s = 0; s < op.S; ++s)
      loops.rope({op.x.as<float>() + s * op.x_stride, op.heads, op.head_dim,
                  op.table.as<float>() + op.positions.as<int32_t>()[s] * op.rot_dim, op.rot_dim,
                  op.layout == RopeLayout::interleaved});
  }
  // A merge reads the records in scratch and no keys or values, so their places need no check.
  void operator()(const Attention& op) const {
    if (op.part != AttentionPart::merge) {
      check_places(op.positions, op.segments, op.cache, op.S);
      return attend(op);
    }
    check_positions(op.positions, op.S, op.cache.capacity, "cache");
    merge(op);
  }
  // A query merges the splits from the one with its first position to the one with its own position.
  void merge(const Attention& op) const {
    for (int64_t s = 0; s < op.S; ++s)
      for (int64_t head = 0; head < op.heads; ++head)
        loops.merge_splits({records_of(op, s * op.heads + head), first_of(op, s) / kAttentionSplit,
                            op.positions.as<int32_t>()[s] / kAttentionSplit + 1, op.cache.head_dim_v,
                            op.y.as<float>() + s * op.y_stride + head * op.cache.head_dim_v, op.round_f16,
                            op.has_sinks ? op.sinks.as<float>() + head : nullptr});
  }
  static int64_t first_of(const Attention& op, int64_t s) {
    return first_seen(op.window, op.positions.as<int32_t>()[s]);
  }
  // The records of one query, in the order of attention_split_simd: [S * heads][splits][2 + head_dim_v].
  static float* records_of(const Attention& op, int64_t query) {
    const int64_t splits = pages_of(op.cache.capacity);
    return op.scratch.as<float>() + query * splits * (2 + op.cache.head_dim_v);
  }
  // The shared parts are tiles of queries of one KV head. A tile gets the address of the next tile's keys, so that they
  // can be prefetched.
  void attend(const Attention& op) const {
    const KvCache& cache = op.cache;
    const bool splits = op.part == AttentionPart::splits;
    // The positions are known only now. Each pair of a query and a position takes a key's and a
    // value's multiplications.
    double multiplications = 0;
    for (int64_t s = 0; s < op.S; ++s)
      multiplications += static_cast<double>(op.positions.as<int32_t>()[s] + 1 - first_of(op, s)) * op.heads *
                         (cache.head_dim + cache.head_dim_v);
    const int64_t group = op.heads / cache.kv_heads, tile = attend_tile(op, group);
    const int64_t tiles = most_tiles(op.segments, op.S, group, tile);
    const auto tile_at = [&](int64_t i) {
      // Late tiles see more positions. Early and late tiles alternate, so neighbouring tiles together have about the
      // same work.
      const int64_t n = i % tiles, at = n % 2 == 0 ? n / 2 : tiles - 1 - n / 2;
      return query_tile(op.segments, op.S, group, tile, at);
    };
    share(multiplications, cache.kv_heads * tiles, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const QueryTile queries = tile_at(i);
        if (queries.begin == queries.end) continue;
        AttendArgs args = attend_args(op, i / tiles, queries);
        if (i + 1 < end) args.next_keys = keys_behind(op, i / tiles, queries, (i + 1) / tiles, tile_at(i + 1));
        splits ? loops.attend_splits(args) : loops.attend(args);
      }
    });
  }
  // The first keys that the next tile reads; nullptr when it reads the keys of this tile.
  static const void* keys_behind(const Attention& op, int64_t kv, const QueryTile& tile, int64_t next_kv,
                                 const QueryTile& next) {
    if (next.begin == next.end || (kv == next_kv && tile.segment == next.segment)) return nullptr;
    const int64_t group = op.heads / op.cache.kv_heads, first = first_of(op, next.first_token + next.begin / group);
    const auto page = static_cast<size_t>(pages_of_segment(op, next.segment)[first / kCachePage]);
    return keys_of(op, next_kv) + page * op.cache.page_bytes(op.cache.head_dim);
  }
  static const int32_t* pages_of_segment(const Attention& op, int64_t segment) {
    return op.segments.pages.as<int32_t>() + segment * pages_of(op.cache.capacity);
  }
  // The keys of a KV head in page 0.
  static const std::byte* keys_of(const Attention& op, int64_t kv) {
    return op.cache.k.as<std::byte>() + static_cast<size_t>(kv) * op.cache.head_bytes(op.cache.head_dim);
  }
  // The number of queries in a tile. The queries of one token share their loads. On a processor where loads take the
  // place of products, the queries of many tokens come in the fastest tiles. The tile is halved while there are fewer
  // tiles than threads, as happens in decoding.
  int64_t attend_tile(const Attention& op, int64_t group) const {
    const int64_t of_segment = mean_queries(op.segments, op.S, group);
    const bool whole = of_segment <= loops.attend_tile || of_segment == group || !this_processor().loads_cost_products;
    const int64_t queries = op.S * group;
    int64_t tile = std::clamp<int64_t>(queries, 1, whole ? loops.attend_tile : loops.fast_tile);
    while (tile > 1 && op.cache.kv_heads * ((queries + tile - 1) / tile) < workers.threads()) tile = (tile + 1) / 2;
    return tile;
  }
  // The arguments for a tile of queries of a KV head. Query n of a tile is head n % group of token n / group. For part
  // `splits`, its result is a record in scratch.
  static AttendArgs attend_args(const Attention& op, int64_t kv, const QueryTile& tile) {
    const KvCache& cache = op.cache;
    const int64_t group = op.heads / cache.kv_heads;
    AttendArgs args{};
    args.queries = static_cast<int>(tile.end - tile.begin);
    for (int64_t i = 0; i < args.queries; ++i) {
      const int64_t n = tile.begin + i, s = tile.first_token + n / group, head = kv * group + n % group;
      args.q[i] = op.q.as<float>() + s * op.q_stride + head * cache.head_dim;
      args.first[i] = first_of(op, s);
      args.last[i] = op.positions.as<int32_t>()[s];
      args.sinks[i] = op.has_sinks ? op.sinks.as<float>() + head : nullptr;
      args.slopes[i] = op.has_slopes ? op.slopes.as<float>()[head] : 0;
      args.own[i] = op.has_slopes ? op.token_positions.as<int32_t>()[s] : 0;
      args.y[i] = op.part == AttentionPart::splits ? records_of(op, s * op.heads + head)
                                                   : op.y.as<float>() + s * op.y_stride + head * cache.head_dim_v;
    }
    const SplitRange splits = splits_of(op, op.positions.as<int32_t>()[tile.last_token]);
    args.split_begin = splits.begin;
    args.split_end = splits.end;
    args.pages = pages_of_segment(op, tile.segment);
    args.tree_begin = tandem::tree_begin(op.segments, tile.segment);
    if (op.segments.depth > 0)
      args.path = op.segments.paths.as<const int32_t>() + tile.segment * (1 + op.segments.depth) + 1;
    args.k = keys_of(op, kv);
    args.v = cache.v.as<std::byte>() + static_cast<size_t>(kv) * cache.head_bytes(cache.head_dim_v);
    args.k_page_bytes = cache.page_bytes(cache.head_dim);
    args.v_page_bytes = cache.page_bytes(cache.head_dim_v);
    args.f16 = cache.type == KvType::f16;
    args.head_dim = cache.head_dim;
    args.head_dim_v = cache.head_dim_v;
    args.score = op.score;
    args.has_slopes = op.has_slopes;
    args.round_f16 = op.round_f16;
    return args;
  }
  void operator()(const Glu& op) const {
    for (int64_t s = 0; s < op.S * op.rows; ++s)
      loops.glu({op.gate.as<float>() + s * op.gate_stride, op.gated ? op.up.as<float>() + s * op.up_stride : nullptr,
                 op.y.as<float>() + s * op.y_stride, op.I, op.activation, op.round_f16});
  }
  void operator()(const Scale& op) const {
    if (op.chosen) return run_expert_scale(op);
    for (int64_t s = 0; s < op.S; ++s) loops.scale(op.x.as<float>() + s * op.x_stride, op.width, op.factor, op.cap);
  }
  void operator()(const Softmax& op) const {
    for (int64_t s = 0; s < op.S; ++s) loops.softmax(op.x.as<float>() + s * op.x_stride, op.width);
  }
  void operator()(const Embed& op) const { run_embed(op); }
  void operator()(const KvAppend& op) const { run_kv_append(op, loops.to_halves); }
  void operator()(const ArgMax& op) const { run_argmax(op); }
  void operator()(const TopK& op) const { run_top_k(op); }
  void operator()(const Add& op) const { run_add(op); }
  void operator()(const Bias& op) const { run_bias(op); }
  void operator()(const ExpertLists& op) const { run_expert_lists(op); }
  void operator()(const Copy& op) const { run_copy(op); }
  void operator()(const ExpertFetch& op) const { run_expert_fetch(op); }
  void operator()(const ExpertDecide& op) const { run_expert_decide(op); }
  void operator()(const ExpertMove& op) const { run_expert_move(op); }
  void operator()(const ExpertPrefetch& op) const { run_expert_prefetch(op, {}); }
  void operator()(const ExpertSides& op) const { run_expert_sides(op); }
  void operator()(const ExpertSlots& op) const { run_expert_slots(op); }
  void operator()(const GatherRows& op) const { run_gather_rows(op); }
  void operator()(const Route& op) const {
    static_assert(kMostGroups == kMostRouteGroups);
    TANDEM_CHECK(op.groups >= 1 && op.groups <= kMostGroups && op.E % op.groups == 0, "groups of experts");
    std::vector<float> keys(op.by_keys() ? static_cast<size_t>(op.E) : 0);
    for (int64_t s = 0; s < op.S; ++s)
      loops.route({op.x.as<float>() + s * op.x_stride, op.E, op.k, op.gating, 2 * kSparseMixerJitter, op.normalised,
                   op.scale, op.biased ? op.bias.as<float>() : nullptr, op.groups, op.groups_used,
                   op.by_keys() ? keys.data() : nullptr, op.ids.as<int32_t>() + s * op.k,
                   op.weights.as<float>() + s * op.k});
  }
  // If op.rows > 0, static graphs have computed some choices. row_of then says which row of their buffers has
  // the result.
  void operator()(const ExpertSum& op) const {
    for (int64_t s = 0; s < op.S; ++s)
      loops.expert_sum({op.x.as<float>() + s * op.k * op.width, op.weights.as<float>() + s * op.k, op.k, op.width,
                        op.rows > 0 ? op.row_of.as<int32_t>() + s * op.k : nullptr,
                        op.rows > 0 ? op.slots.as<float>() : nullptr,
                        op.shared ? op.shared.as<float>() + s * op.width : nullptr,
                        op.gate ? op.gate.as<float>() + s * op.gate_stride : nullptr, op.y.as<float>() + s * op.width});
  }
  // The shared parts are the panels of all matrices, one matrix behind the other. A thread's run of parts may begin and
  // end inside a matrix.
  void operator()(const GroupedMatMul& op) const {
    const ChoicesByExpert by = choices_by_expert(op.ids, op.S * op.slots, op.w.count, op.listed_only);
    const double multiplications = static_cast<double>(op.S * op.slots) * op.w.rows * op.columns();
    share(multiplications, op.w.count * panel_count(op.w.rows), [&](int64_t begin, int64_t end, int) {
      const int64_t panels = panel_count(op.w.rows);
      for (int64_t m = begin / panels; m * panels < end; ++m) {
        const std::span choices(by.choices.begin() + by.begins[m], by.choices.begin() + by.begins[m + 1]);
        const int64_t first = std::max(begin - m * panels, int64_t{0}), last = std::min(end - m * panels, panels);
        if (!choices.empty()) multiply(op, m, choices, first, last);
      }
    });
  }
  // The columns of a panel from `first` on are one run of bytes, so each panel is multiplied by itself.
  void multiply_columns(PackedProduct product, size_t pitch, int64_t first, float* scratch) const {
    const int64_t rows = product.row_end;
    const std::byte* panel = product.panels + (first > 0 ? panel_bytes(product.format, first) : 0);
    for (int64_t done = 0; done < rows; done += kPanelRows, panel += pitch, product.y += kPanelRows) {
      product.panels = panel, product.row_end = std::min(kPanelRows, rows - done);
      multiply_panels(packed, product, 0, 1, scratch);
    }
  }
  // Multiplies panels [begin, end) of one matrix with the rows of its choices. The rows lie anywhere in x, so they are
  // first copied together.
  void multiply(const GroupedMatMul& op, int64_t m, std::span<const int64_t> choices, int64_t begin,
                int64_t end) const {
    const auto n = static_cast<int64_t>(choices.size());
    const PackedMatrix matrix = op.w.matrix(m);
    const int64_t columns = op.columns(), groups = columns / kActGroup,
                  rows = std::min(end * kPanelRows, matrix.rows) - begin * kPanelRows;
    const AlignedArray<float> scratch = aligned_array<float>(scratch_floats(n)), y = aligned_array<float>(n * rows),
                              x = aligned_array<float>(op.act_i8 ? 0 : n * columns);
    const AlignedArray<ActBlock> codes = op.act_i8 ? aligned_array<ActBlock>(n * groups) : nullptr;
    for (int64_t i = 0; i < n; ++i) {
      // The choice of slot i of token s has the number s * slots + i.
      const int64_t s = choices[i] / op.slots, slot = choices[i] % op.slots;
      const float* row = op.x.as<float>() + s * op.x_stride + slot * op.x_slot;
      if (op.act_i8)
        packed.act->quantise(row, columns, codes.get() + i * groups);
      else
        std::copy_n(row, columns, x.get() + i * columns);
    }
    const size_t pitch = panel_bytes(matrix.format, matrix.columns);
    const auto* panels = matrix.data.as<std::byte>() + static_cast<size_t>(begin) * pitch;
    PackedProduct product{matrix.format, panels, n, columns, rows, y.get(), rows};
    product.x = {x.get(), columns};
    product.codes = codes.get();
    if (op.column_count == 0)
      multiply_panels(packed, product, 0, end - begin, scratch.get());
    else
      multiply_columns(product, pitch, op.column_begin, scratch.get());
    for (int64_t i = 0; i < n; ++i) {
      const int64_t s = choices[i] / op.slots, slot = choices[i] % op.slots;
      std::copy_n(y.get() + i * rows, rows, op.y.as<float>() + s * op.y_stride + slot * op.y_slot + begin * kPanelRows);
    }
  }
};

}  // namespace

void run_contract(const Operator& op, const HostLoops& loops, Workers& workers) {
  std::visit(Contract{loops, workers}, op.body);
}

}  // namespace tandem::host
