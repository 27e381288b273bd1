#include "engine/graph/activations.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/model/alibi.h"
#include "engine/model/rope.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Widest I of the feed-forward networks that every token uses; 0 if there is none.
int64_t widest_feed_forward(const ModelConfig& c) {
  int64_t widest = c.experts ? c.experts->shared_feed_forward : 0;
  for (int64_t layer = 0; layer < c.layers; ++layer)
    if (!c.has_experts(layer)) widest = std::max(widest, c.feed_forward);
  return widest;
}

}  // namespace

// Takes a slot for each buffer, in the order of a pass. Without a pool all operands stay empty. The first positions are
// written at once.
Activations::Activations(const ModelConfig& c, const ActivationSizes& s, sync::Pool* pool) : sizes(s), pool_(pool) {
  TANDEM_CHECK(s.tokens > 0 && s.logit_rows >= 0 && s.positions > 0 && s.positions % 64 == 0, "activation sizes");
  const auto floats = [this](int64_t rows, int64_t width, const char* label) {
    return take(static_cast<size_t>(rows * width) * sizeof(float), sync::SlotUse::activations, label);
  };
  // Between operators: nobody else reads or writes these.
  const auto between = [this](int64_t rows, int64_t width, const char* label) {
    return take(static_cast<size_t>(rows * width) * sizeof(float), sync::SlotUse::intermediates, label);
  };
  // Written here alone, and read by every pass.
  const auto constants = [this](int64_t rows, int64_t width, const char* label) {
    return take(static_cast<size_t>(rows * width) * sizeof(float), sync::SlotUse::weights, label);
  };
  // A graph that pads writes rows beyond the pass's tokens, so its buffers are larger. Ids and positions exist for
  // tokens alone.
  const int64_t rows = std::max(s.tokens, s.rows),
                logit_rows = std::max<int64_t>({s.logit_rows, s.padded_logit_rows, 1});
  ids = floats(s.tokens, 1, "ids");
  positions = last_seen = floats(s.tokens, 1, "positions");
  if (c.sees_all) last_seen = floats(s.tokens, 1, "last seen positions");
  segments.count = s.segments;
  segments.begins = floats(s.segments + 1, 1, "begins of segments");
  segments.pages = floats(s.segments, pages_of(s.positions), "pages of segments");
  segments.depth = s.tree_depth;
  if (s.tree_depth > 0) segments.paths = floats(s.segments, 1 + s.tree_depth, "paths of trees");
  // Positions and pages are valid from the start.
  if (pool_) write_positions(*this, 0, 1);
  hidden = between(rows, c.hidden, "hidden");
  normed = between(rows, c.hidden, "normed");
  qkv = between(rows, c.projected_width(), "qkv");
  attended = between(rows, c.heads * c.head_dim_v, "attended");
  if (c.latent) {
    if (c.latent->query_rank > 0) {
      query_latents = between(rows, c.latent->query_rank, "latents of queries");
      queries = between(rows, c.query_width(), "queries");
    }
    latent_queries = between(rows, c.q_width(), "latent queries");
    values = between(rows, c.attended_width(), "values");
  }
  projected = between(rows, c.hidden, "projected");
  if (const int64_t width = widest_feed_forward(c)) {
    gate_up = between(rows, (c.gated ? 2 : 1) * width, "gate_up");
    activated = between(rows, width, "activated");
  }
  if (c.experts) {
    const ExpertsConfig& e = *c.experts;
    if (e.shared_feed_forward > 0) shared = between(rows, c.hidden, "shared experts");
    expert_lists = between(rows, expert_list_words(e.count, e.used), "lists of experts");
    if (s.experts_move) expert_places = floats(rows, e.used, "slots of experts");
    expert_gate_up = between(rows * e.used, 2 * e.feed_forward, "gate_up of experts");
    expert_activated = between(rows * e.used, e.feed_forward, "activated of experts");
    expert_found = between(rows * e.used, c.hidden, "found by experts");
  }
  // Static graphs of experts read and write rows of their own: gathered from the tokens, and padded.
  if (c.experts && s.expert_rows > 0) {
    const ExpertsConfig& e = *c.experts;
    expert_rows.choice_of = floats(s.expert_rows, 1, "choices of experts' rows");
    expert_rows.row_of = floats(rows, e.used, "rows of choices");
    expert_rows.gathered = floats(s.expert_rows, c.hidden, "gathered for experts");
    expert_rows.gate_up = floats(s.expert_rows, 2 * e.feed_forward, "gate_up of experts' rows");
    expert_rows.activated = floats(s.expert_rows, e.feed_forward, "activated of experts' rows");
    expert_rows.found = floats(s.expert_rows, c.hidden, "found in experts' rows");
  }
  if (c.experts && s.lanes.slots > 0) {
    const ExpertsConfig& e = *c.experts;
    for (Operand& tables : lanes.tables)
      tables = floats(LaneLayout{rows, e.used, s.lanes}.words(), 1, "decisions about experts");
    lanes.gate_up = floats(rows * e.used, 2 * e.feed_forward, "gate_up of experts on the host");
    lanes.activated = floats(rows * e.used, e.feed_forward, "activated of experts on the host");
    lanes.found = floats(rows * e.used, c.hidden, "found by experts on the host");
  }
  if (c.experts && s.expert_sides > 0) {
    const ExpertsConfig& e = *c.experts;
    units.side_ids_bytes = static_cast<size_t>(rows * e.used) * sizeof(int32_t);
    units.side_lists_bytes = static_cast<size_t>(rows * expert_list_words(e.count, e.used)) * sizeof(int32_t);
    units.ids = floats(s.expert_sides * rows, e.used, "ids of sides");
    units.lists = floats(s.expert_sides * rows, expert_list_words(e.count, e.used), "lists of sides");
    units.row_of = floats(rows, e.used, "rows of units' choices");
    units.gate_up = floats(rows * e.used, 2 * e.feed_forward, "gate_up of units");
    units.activated = floats(rows * e.used, e.feed_forward, "activated of units");
    units.found = floats(rows * e.used, c.hidden, "found by units");
    for (int64_t u = 0; u < s.expert_partials; ++u)
      units.partials.push_back(floats(rows * e.used, c.hidden, "partial sums of a unit"));
  }
  const int64_t guesses = std::max(s.guess_layers, s.prefetch_layers);
  if (c.experts && guesses > 0) guess_normed = floats(rows, c.hidden, "normed for guesses");
  logits_bytes_ = static_cast<size_t>(logit_rows * (s.hidden_states ? c.hidden : c.vocabulary)) * sizeof(float);
  add_logits();
  rope_table = constants(s.positions, c.rope.dim, "rope table");
  if (c.window_rope) window_rope_table = constants(s.positions, c.window_rope->dim, "rope table of windows");
  if (c.has_temperature(s.positions)) query_rope_table = constants(s.positions, c.rope.dim, "rope table of queries");
  if (c.has_unrotated_temperature()) temperature_table = constants(s.positions, c.head_dim, "factors on queries");
  if (c.alibi > 0) {
    slopes = constants(c.heads, 1, "slopes of heads");
    if (pool_) std::ranges::copy(alibi_slopes(c.heads, c.alibi), slopes.as<float>());
  }
  const bool scales_input = c.experts && c.experts->scales_input;
  if (scales_input) scaled = floats(rows, c.hidden, "scaled input of experts");
  if (scales_input || c.unit_qk_norm) {
    const int64_t count = std::max(rows, c.head_dim);
    ones = constants(count, 1, "ones");
    if (pool_) std::fill_n(ones.as<float>(), count, 1.0f);
  }
  // Attention over a long cache is cut into splits, whose partial results lie here until they are merged.
  scratch = take(std::max<size_t>(64, attention_scratch_bytes(s.tokens, c.heads, c.head_dim_v, s.positions)),
                 sync::SlotUse::device_local, "attention scratch");
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    KvCache cache = kv_cache(s.kv_type, c.kv_heads, c.head_dim, c.head_dim_v, s.positions, s.pages);
    const std::string name = "blk." + std::to_string(layer);
    cache.k = take(cache.k_bytes(), sync::SlotUse::device_local, name + ".k_cache");
    cache.v = take(cache.v_bytes(), sync::SlotUse::device_local, name + ".v_cache");
    caches.push_back(cache);
    // Layers without experts keep an empty entry, so that a layer's number is its index.
    LayerRouting& routes = routing.emplace_back();
    if (!c.has_experts(layer)) continue;
    const ExpertsConfig& e = *c.experts;
    routes.width = e.count + (e.shared_gate ? 1 : 0);
    routes.scores = floats(rows, routes.width, "scores of experts");
    routes.ids = floats(rows, e.used, "ids of experts");
    routes.weights = floats(rows, e.used, "weights of experts");
    for (int64_t l = layer + 1; l < c.layers && std::ssize(routes.guesses) < guesses; ++l)
      if (c.has_experts(l)) routes.guesses.push_back(floats(rows, routes.width, "guessed scores of experts"));
  }
  if (pool_) fill_tables(c);
}

// Tables of millions of positions take seconds, so they come when all memory is there.
void Activations::fill_tables(const ModelConfig& c) {
  if (c.rope.dim > 0) fill_rope_table(c.rope, sizes.positions, rope_table.as<float>());
  if (c.window_rope) fill_rope_table(*c.window_rope, sizes.positions, window_rope_table.as<float>());
  if (query_rope_table) fill_rope_table(c.rope, sizes.positions, query_rope_table.as<float>(), &*c.temperature);
  if (temperature_table)
    fill_temperature_table(*c.temperature, sizes.positions, c.head_dim, temperature_table.as<float>());
}

Activations::~Activations() {
  for (sync::Slot* slot : slots_) pool_->release(*slot);
}

Segments Activations::segments_of(int64_t count, bool trees) const {
  Segments some = segments;
  some.count = count;
  // Operators read paths only if there are trees.
  if (!trees) some.depth = 0, some.paths = {};
  return some;
}

// Every buffer of a pass. Buffers that the model does not need are absent and count nothing.
size_t Activations::bytes() const {
  size_t sum = 0;
  for (const Operand& buffer : {ids,
                                positions,
                                segments.begins,
                                segments.pages,
                                segments.paths,
                                hidden,
                                normed,
                                guess_normed,
                                qkv,
                                query_latents,
                                queries,
                                latent_queries,
                                attended,
                                values,
                                projected,
                                gate_up,
                                activated,
                                shared,
                                expert_lists,
                                expert_places,
                                expert_gate_up,
                                expert_activated,
                                expert_found,
                                expert_rows.choice_of,
                                expert_rows.row_of,
                                expert_rows.gathered,
                                expert_rows.gate_up,
                                expert_rows.activated,
                                expert_rows.found,
                                units.ids,
                                units.lists,
                                units.row_of,
                                units.gate_up,
                                units.activated,
                                units.found,
                                slopes,
                                ones,
                                scaled,
                                scratch}) {
    if (buffer) sum += buffer.slot->size_bytes();
  }
  for (const auto* buffers : {&units.partials, &logits})
    for (const Operand& buffer : *buffers) sum += buffer ? buffer.slot->size_bytes() : 0;
  return sum;
}

// One sequence has its pages in the order of the cache.
void write_positions(const Activations& activations, int64_t first, int64_t count) {
  for (int64_t s = 0; s < count; ++s) activations.positions.as<int32_t>()[s] = static_cast<int32_t>(first + s);
  if (activations.last_seen != activations.positions)
    std::fill_n(activations.last_seen.as<int32_t>(), count, static_cast<int32_t>(first + count - 1));
  auto* pages = activations.segments.pages.as<int32_t>();
  std::iota(pages, pages + pages_of(activations.sizes.positions), 0);
}

namespace {

// Writes the first position of the token's path, then the path; kNoTree for a token outside a tree.
void write_path(const Segments& segments, int64_t segment, const TokenRun& run) {
  TANDEM_CHECK(std::ssize(run.path) <= segments.depth && (run.path.empty() || run.tokens == 1), "a path of a tree");
  if (segments.depth == 0) return;
  auto* path = segments.paths.as<int32_t>() + segment * (1 + segments.depth);
  path[0] = run.path.empty() ? kNoTree : static_cast<int32_t>(run.first_position + 1 - std::ssize(run.path));
  std::ranges::copy(run.path, path + 1);
}

}  // namespace

// Runs follow each other without gaps. Segments without a run are empty: they begin where the tokens end.
void write_runs(const Activations& activations, std::span<const TokenRun> runs, int64_t segments) {
  TANDEM_CHECK(std::ssize(runs) <= segments && segments <= activations.sizes.segments, "segments of a pass");
  auto* position = activations.positions.as<int32_t>();
  auto* begins = activations.segments.begins.as<int32_t>();
  const int64_t pages_each = pages_of(activations.sizes.positions);
  int64_t token = 0;
  for (int64_t i = 0; i < segments; ++i) {
    begins[i] = static_cast<int32_t>(token);
    if (i >= std::ssize(runs)) continue;
    const TokenRun& run = runs[static_cast<size_t>(i)];
    TANDEM_CHECK(token + run.tokens <= activations.sizes.tokens, "tokens of a pass");
    // Number of cache places that the run needs.
    const int64_t places = run.path.empty() ? run.first_position + run.tokens : run.path.back() + 1;
    TANDEM_CHECK(pages_of(places) <= std::min(std::ssize(run.pages), pages_each), "pages of a sequence");
    write_path(activations.segments, i, run);
    for (int64_t s = 0; s < run.tokens; ++s) *position++ = static_cast<int32_t>(run.first_position + s);
    if (activations.last_seen != activations.positions)
      std::fill_n(activations.last_seen.as<int32_t>() + token, run.tokens,
                  static_cast<int32_t>(run.first_position + run.tokens - 1));
    std::ranges::copy(run.pages.first(static_cast<size_t>(std::min(std::ssize(run.pages), pages_each))),
                      activations.segments.pages.as<int32_t>() + i * pages_each);
    token += run.tokens;
  }
  begins[segments] = static_cast<int32_t>(token);
}

void Activations::add_logits() { logits.push_back(take(logits_bytes_, sync::SlotUse::activations, "logits", true)); }

Operand Activations::take(size_t bytes, sync::SlotUse use, std::string label, bool keepable) {
  if (!pool_) return {};
  slots_.push_back(&pool_->acquire(std::max<size_t>(bytes, 64), use, std::move(label), keepable));
  return {slots_.back(), 0};
}

}  // namespace tandem
