#include "engine/graph/decoder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/model/ffn_biases.h"
#include "packed/act_i8.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Appends operators for one pass; each method is one part of a layer.
class Builder {
 public:
  // Up to so many tokens, experts are found token by token. Few tokens seldom share an expert, and a list of tokens per
  // expert would cost more.
  static constexpr int64_t kTokensWithoutLists = 4;

  Builder(const Model& model, const Activations& buffers, const Batch& batch, const GraphOptions& options)
      : c_(model.config), w_(model.weights), b_(buffers), batch_(batch), options_(options), S_(batch.S) {}

  // Layer by layer: projections and cache, attention, feed-forward network. In the last layer tokens without logits are
  // dropped after the cache is filled.
  std::vector<Operator> build() {
    embed();
    for (size_t layer = 0; layer < w_.layers.size(); ++layer) {
      window_ = c_.window_of(static_cast<int64_t>(layer));
      layer_ = static_cast<int64_t>(layer);
      prefix_ = "blk." + std::to_string(layer) + ".";
      project(w_.layers[layer], b_.caches[layer], layer > 0);
      const bool drops = layer + 1 == w_.layers.size() && !options_.every_token;
      drops_behind_router_ = drops && b_.sizes.routes_every_token && c_.has_experts(layer_);
      if (drops && !drops_behind_router_) drop_tokens_without_logits();
      // A pass without logits only fills the cache, which is complete here.
      if (S_ == 0) break;
      attention(w_.layers[layer], b_.caches[layer]);
      feed_forward(w_.layers[layer]);
    }
    layer_ = -1;
    prefix_.clear();
    if (batch_.logit_rows > 0) output();
    return std::move(operators_);
  }

 private:
  // The embeddings of tokens. Encoders add those of positions and of the first type of tokens, and norm the sum.
  void embed() {
    const int64_t H = c_.hidden;
    add("token_embd", Embed{S_, H, w_.embedding, b_.ids, b_.hidden, c_.embedding_scale});
    if (c_.token_types > 0) add("token_embd_types", Bias{S_, H, b_.hidden, H, w_.token_types});
    if (c_.position_rows > 0)
      add("token_embd_positions", Embed{S_, H, w_.position_embedding, b_.positions, b_.projected});
    if (!c_.sum_norms) return;
    RmsNorm op = norm_of(w_.embedding_norm, w_.embedding_norm_bias);
    if (c_.position_rows > 0) op.add = b_.projected;
    add("token_embd_norm", of_sum(op));
  }

  // Computes q, k and v of every token, and fills the cache.
  void project(const LayerWeights& layer, const KvCache& cache, bool has_residual) {
    norm("attn_norm", layer.attention_norm, layer.attention_norm_bias, has_residual);
    matmul("attn_qkv", layer.qkv, block_input(), S_, b_.qkv);
    if (c_.qkv_bias) add_bias("attn_qkv", layer.qkv, S_, b_.qkv);
    c_.latent ? keep_latents(layer, cache) : keep_keys_and_values(layer, cache);
  }

  // Norms and rotates q and k in place, then appends k and v to the cache.
  void keep_keys_and_values(const LayerWeights& layer, const KvCache& cache) {
    const int64_t q_width = c_.q_width(), qk_width = q_width + c_.k_width(), stride = c_.qkv_width();
    const Operand q = b_.qkv, k = column(b_.qkv, q_width), v = column(b_.qkv, qk_width);
    if (c_.qk_norm && !c_.qk_norm_last) norm_heads(layer, q, k);
    if (c_.rotates(layer_)) rotate(q, k);
    if (c_.qk_norm && c_.qk_norm_last) norm_heads(layer, q, k);
    if (c_.unit_qk_norm && c_.rotates(layer_)) {
      norm_in_place("attn_q_norm", q, stride, c_.heads, c_.head_dim, b_.ones);
      norm_in_place("attn_k_norm", k, stride, c_.kv_heads, c_.head_dim, b_.ones);
    }
    // A rotation by no angle, whose table has the factor in the place of the cosine.
    if (c_.has_unrotated_temperature() && !c_.rotates(layer_))
      add("attn_q_scale", Rope{S_, c_.heads, c_.head_dim, c_.head_dim, RopeLayout::interleaved, q, stride, b_.positions,
                               b_.temperature_table, b_.sizes.positions});
    add("kv_append", KvAppend{S_, k, v, stride, stride, b_.positions, cache, segments()});
  }

  // q and k lie side by side with heads of one size, so one rotation does both. Queries with a temperature have a table
  // of their own, and so a rotation.
  void rotate(const Operand& q, const Operand& k) {
    const bool is_other = window_ > 0 && c_.window_rope;
    const RopeConfig& rope = is_other ? *c_.window_rope : c_.rope;
    Rope op{S_,
            c_.heads + c_.kv_heads,
            c_.head_dim,
            rope.dim,
            rope.halves ? RopeLayout::halves : RopeLayout::interleaved,
            q,
            c_.qkv_width(),
            b_.positions,
            is_other ? b_.window_rope_table : b_.rope_table,
            b_.sizes.positions};
    if (!c_.has_temperature(b_.sizes.positions)) return add("rope", op);
    TANDEM_CHECK(!is_other && rope.dim == c_.head_dim, "a temperature of heads that are not rotated as a whole");
    op.heads = c_.kv_heads, op.x = k;
    add("rope_k", op);
    op.heads = c_.heads, op.x = q, op.table = b_.query_rope_table;
    add("rope_q", op);
  }

  void norm_heads(const LayerWeights& layer, const Operand& q, const Operand& k) {
    if (c_.qk_norm_each) {
      norm_each_head("attn_q_norm", q, c_.heads, layer.q_norm);
      return norm_each_head("attn_k_norm", k, c_.kv_heads, layer.k_norm);
    }
    const bool whole = c_.qk_norm_whole;  // one norm for all heads
    const int64_t stride = c_.qkv_width();
    norm_in_place("attn_q_norm", q, stride, whole ? 1 : c_.heads, whole ? c_.q_width() : c_.head_dim, layer.q_norm);
    norm_in_place("attn_k_norm", k, stride, whole ? 1 : c_.kv_heads, whole ? c_.k_width() : c_.head_dim, layer.k_norm);
  }

  // LayerNorms without biases, each with weights of its own.
  void norm_each_head(const char* name, const Operand& x, int64_t heads, const Operand& weights) {
    norm_in_place(name, x, c_.qkv_width(), heads, c_.head_dim, weights);
    auto& norm = std::get<RmsNorm>(operators_.back().body);
    norm.centred = norm.own_weights = true;
  }

  // For latent attention. A row has all heads' queries, then the latent, then the rotated key. The last two lie side by
  // side, as in the cache.
  void keep_latents(const LayerWeights& layer, const KvCache& cache) {
    const LatentConfig& latent = *c_.latent;
    const int64_t stride = c_.projected_width(), at = stride - c_.head_dim;
    if (latent.query_rank > 0) find_queries(layer);
    norm_in_place("attn_kv_a_norm", column(b_.qkv, at), stride, 1, latent.rank, layer.latent_norm);
    const RopeLayout layout = c_.rope.halves ? RopeLayout::halves : RopeLayout::interleaved;
    add("rope_q", Rope{S_, c_.heads, latent.nope + latent.rope, latent.rope, layout, column(queries(), latent.nope),
                       query_stride(), b_.positions, b_.rope_table, b_.sizes.positions});
    add("rope_k", Rope{S_, 1, latent.rope, latent.rope, layout, column(b_.qkv, at + latent.rank), stride, b_.positions,
                       b_.rope_table, b_.sizes.positions});
    // Keys and values are the same numbers: the cache keeps the latent and the rotated key as one head.
    const Operand kept = column(b_.qkv, at);
    add("kv_append", KvAppend{S_, kept, kept, stride, stride, b_.positions, cache, segments()});
  }

  // Queries from their own latent, which is normed first.
  void find_queries(const LayerWeights& layer) {
    RmsNorm op;
    op.S = S_;
    op.width = op.y_stride = c_.latent->query_rank;
    op.x_stride = c_.projected_width();
    op.x = b_.qkv, op.y = b_.query_latents;
    op.weight = layer.query_norm;
    op.eps = c_.norm_eps;
    op.round_f16 = options_.round_f16;
    add("attn_q_a_norm", op);
    matmul("attn_q_b", layer.query_up, b_.query_latents, S_, b_.queries);
  }

  // The queries of latent attention, and the distance from one token's to the next.
  Operand queries() const { return c_.latent->query_rank > 0 ? b_.queries : b_.qkv; }
  int64_t query_stride() const { return c_.latent->query_rank > 0 ? c_.query_width() : c_.projected_width(); }

  Segments segments() const { return b_.segments_of(batch_.segments, batch_.trees); }

  // Once the cache has every token, only tokens with logits continue in the last layer. The residual stream, q and
  // positions stay where they are. Everything after that is written from row 0 on.
  void drop_tokens_without_logits() {
    first_ = batch_.S - batch_.logit_rows;
    S_ = batch_.logit_rows;
  }

  // Attention of the current tokens over the cache, and its output projection. Latent attention has one more product
  // before it and one after it.
  void attention(const LayerWeights& layer, const KvCache& cache) {
    Attention op;
    op.S = S_;
    op.heads = c_.heads;
    op.q = c_.latent ? queries_for_latents(layer) : column(b_.qkv, first_ * c_.projected_width());
    op.q_stride = c_.latent ? c_.q_width() : c_.projected_width();
    op.y = b_.attended;
    op.y_stride = c_.heads * c_.head_dim_v;
    op.positions = advanced(b_.last_seen, first_ * static_cast<int64_t>(sizeof(int32_t)));
    op.sees_all = c_.sees_all;
    op.has_slopes = c_.alibi > 0, op.slopes = b_.slopes;
    if (op.has_slopes) op.token_positions = advanced(b_.positions, first_ * static_cast<int64_t>(sizeof(int32_t)));
    op.cache = cache;
    op.segments = segments();
    if (batch_.segments > 1) op.segments.first_token = first_;
    op.score = {c_.attention_scale(), c_.attention_cap};
    op.window = c_.window_is_chunk ? -window_ : window_;
    op.has_sinks = c_.attention_sinks, op.sinks = layer.attention_sinks;
    op.round_f16 = options_.round_f16;
    op.scratch = b_.scratch;
    add("attention", op);
    if (c_.latent) values_of_latents(layer);
    matmul("attn_output", layer.attention_output, c_.latent ? b_.values : b_.attended, S_, b_.projected);
    if (c_.output_bias) add_bias("attn_output", layer.attention_output, S_, b_.projected);
    if (c_.post_norms) post_norm("attn_post_norm", layer.attention_post_norm);
    if (c_.sum_norms) sum_norm("attn_output_norm", layer.attention_post_norm, layer.attention_post_norm_bias);
  }

  // A key is a matrix times a latent. So query times key equals the query times that matrix, times the latent. Each
  // head's query is multiplied by the head's matrix, and its rotated part is appended.
  Operand queries_for_latents(const LayerWeights& layer) {
    const LatentConfig& latent = *c_.latent;
    const int64_t each = latent.nope + latent.rope, stride = query_stride();
    const Operand q = column(queries(), first_ * stride);
    stacked("attn_k_b", layer.key_up, {c_.heads}, {q, stride, each}, {b_.latent_queries, c_.q_width(), c_.head_dim});
    add("attn_q_pe", Copy{S_, c_.heads, latent.rope, column(q, latent.nope), column(b_.latent_queries, latent.rank),
                          stride, each, c_.q_width(), c_.head_dim});
    return b_.latent_queries;
  }

  // Turns attended latents into values, head by head. Stacks do not round their result, so a copy does.
  void values_of_latents(const LayerWeights& layer) {
    const int64_t width = c_.attended_width();
    stacked("attn_v_b", layer.value_up, {c_.heads}, {b_.attended, c_.heads * c_.head_dim_v, c_.head_dim_v},
            {b_.values, width, c_.latent->value});
    if (options_.round_f16) add("attn_v_f16", Copy{S_, 1, width, b_.values, b_.values, width, 0, width, 0, true});
  }

  void feed_forward(const LayerWeights& layer) {
    if (c_.parallel)
      add_attention();
    else
      norm("ffn_norm", layer.ffn_norm, layer.ffn_norm_bias, true);
    if (c_.has_experts(layer_))
      experts(layer);
    else
      dense("", layer, c_.feed_forward, feed_forward_input(), b_.projected);
    if (S_ == 0) return;  // only the routing of its tokens was wanted
    if (c_.post_norms) post_norm("ffn_post_norm", layer.ffn_post_norm);
    if (c_.sum_norms) sum_norm("layer_output_norm", layer.ffn_post_norm, layer.ffn_post_norm_bias);
  }

  // Adds attention's result to the residual stream. A parallel network does not read the sum, so no norm can add it.
  void add_attention() {
    TANDEM_CHECK(c_.residual_scale == 1 && !c_.has_experts(layer_), "scales and experts of parallel blocks");
    const int64_t H = c_.hidden;
    add("attn_residual", Add{S_, H, column(b_.hidden, first_ * H), b_.projected, H, H});
  }

  // The rows of the norm that the network reads. A parallel one reads attention's norm, which has rows of tokens that
  // were dropped since.
  Operand feed_forward_input() const { return c_.parallel ? column(b_.normed, first_ * c_.hidden) : block_input(); }

  // A feed-forward network that every token uses. `suffix` is added to the operators' names.
  void dense(const std::string& suffix, const LayerWeights& layer, int64_t I, const Operand& x, const Operand& y) {
    const int64_t width = (c_.gated ? 2 : 1) * I;
    const std::string up = (c_.gated ? "ffn_gate_up" : "ffn_up") + suffix;
    matmul(up, layer.gate_up, x, S_, b_.gate_up);
    if (first_products_have_biases(c_)) add_bias(up, layer.gate_up, S_, b_.gate_up);
    glu(suffix, {S_, I, b_.gate_up, c_.gated ? column(b_.gate_up, I) : Operand{}, width, width, b_.activated, I});
    matmul("ffn_down" + suffix, layer.down, b_.activated, S_, y);
    if (c_.ffn_bias) add_bias("ffn_down" + suffix, layer.down, S_, y);
  }

  void glu(const std::string& suffix, Glu op) {
    op.round_f16 = options_.round_f16;
    op.activation = c_.activation;
    op.gated = c_.gated;
    add(op.kind() + suffix, op);
  }

  // Every token uses its own k experts. Each of these choices has its own row until the rows are added up.
  void experts(const LayerWeights& layer) {
    const ExpertsConfig& e = *c_.experts;
    const int64_t k = e.used, H = c_.hidden;
    const LayerRouting& routing = b_.routing[static_cast<size_t>(layer_)];
    const int64_t width = routing.width;
    score("ffn_gate_inp", layer.router, b_.normed, routing.scores);
    Route route{S_, e.count, k, routing.scores, width, routing.ids, routing.weights, e.gating, e.normalised, e.scale};
    route.biased = e.choice_bias, route.bias = layer.router_bias;
    route.groups = e.groups, route.groups_used = e.groups_used;
    add("route", route);
    guess_later_layers(routing);
    if (drops_behind_router_) drop_tokens_without_logits();
    if (S_ == 0) return;
    // The router's input and results stay in their rows. The tokens that go on begin at row `begin`.
    const int64_t begin = drops_behind_router_ ? first_ : 0;
    const Operand normed = column(b_.normed, begin * H), weights = column(routing.weights, begin * k),
                  ids = advanced(routing.ids, begin * k * static_cast<int64_t>(sizeof(int32_t)));
    // One expert of a token: the sum of one choice is the input times its weight.
    const Operand input = e.scales_input ? b_.scaled : normed;
    if (e.scales_input) scale_input(normed, weights);
    // With many tokens each expert gets a list of its tokens.
    const bool move = !w_.moving.empty();
    const Operand lists = S_ > kTokensWithoutLists ? b_.expert_lists : Operand{};
    if (lists && !move) add("expert_lists", ExpertLists{S_, e.count, k, ids, lists});
    // Every token uses the shared experts, so they are a dense network.
    if (e.shared_feed_forward > 0) dense("_shexp", layer, e.shared_feed_forward, normed, b_.shared);
    move ? moving_experts(layer, ids, weights, input)
         : expert_products(layer, {k, true, ids, lists, 1, ids}, input, "_exps");
    ExpertSum sum;
    sum.S = S_, sum.k = k, sum.width = H;
    sum.x = b_.expert_found, sum.weights = e.scales_input ? b_.ones : weights;
    if (e.shared_feed_forward > 0) sum.shared = b_.shared;
    if (e.shared_gate) sum.gate = column(routing.scores, begin * width + e.count), sum.gate_stride = width;
    sum.y = b_.projected;
    add("expert_sum", sum);
  }

  void scale_input(const Operand& normed, const Operand& weights) {
    const int64_t H = c_.hidden;
    TANDEM_CHECK(c_.experts->used == 1, "a weight on the input of several experts");
    ExpertSum op;
    op.S = S_, op.k = 1, op.width = H;
    op.x = normed, op.weights = weights, op.y = b_.scaled;
    add("ffn_input_scale", op);
    if (options_.round_f16) add("ffn_input_f16", Copy{S_, 1, H, b_.scaled, b_.scaled, H, 0, H, 0, true});
  }

  // Scores of the experts for every token.
  void score(const std::string& name, const MatrixGroup& router, const Operand& x, const Operand& y) {
    matmul(name, router, x, S_, y, true);
    if (c_.experts->score_bias) add_bias(name, router, S_, y);
  }

  // Y3: the next layers' norms and routers read the residual stream as it is now, in this layer.
  void guess_later_layers(const LayerRouting& routing) {
    auto later = static_cast<size_t>(layer_);
    const int64_t asked = std::max(b_.sizes.guess_layers, std::min(batch_.prefetch, b_.sizes.prefetch_layers));
    const size_t count = std::min(routing.guesses.size(), static_cast<size_t>(asked));
    for (size_t ahead = 0; ahead < count; ++ahead) {
      do ++later;
      while (!c_.has_experts(static_cast<int64_t>(later)));
      const LayerWeights& layer = w_.layers[later];
      RmsNorm op = norm_of(layer.ffn_norm, layer.ffn_norm_bias);
      op.y = b_.guess_normed;
      const std::string name = "guess_" + std::to_string(ahead + 1);
      add(name + "_norm", op);
      score(name, layer.router, b_.guess_normed, routing.guesses[ahead]);
    }
  }

  // Norm and logits of the last tokens. The norm adds the last block's result first.
  void output() {
    const Operand& logits = b_.logits.at(batch_.logits);
    if (c_.sum_norms) {  // the last layer's sum is normed already
      TANDEM_CHECK(b_.sizes.hidden_states, "an encoder has no logits");
      const int64_t H = c_.hidden, rows = batch_.logit_rows;
      return add("output_states", Copy{rows, 1, H, column(b_.hidden, (batch_.S - rows) * H), logits, H, 0, H, 0});
    }
    RmsNorm op = norm_of(w_.output_norm, w_.output_norm_bias);
    op.S = batch_.logit_rows;
    // The residual stream keeps its rows, but the last block has written from row 0 on if tokens were dropped.
    op.x = column(b_.hidden, (batch_.S - op.S) * c_.hidden);
    op.add = column(b_.projected, (S_ - op.S) * c_.hidden);
    if (b_.sizes.hidden_states) {
      op.y = logits;
      op.round_f16 = false;
      return add("output_norm", op);
    }
    add("output_norm", op);
    matmul("output", w_.output, b_.normed, batch_.logit_rows, logits);
    if (c_.logits_bias) add_bias("output", w_.output, batch_.logit_rows, logits);
    if (c_.logit_scale != 1 || c_.logit_cap > 0)
      add("logit_scale", Scale{batch_.logit_rows, c_.vocabulary, logits, c_.vocabulary, c_.logit_scale, c_.logit_cap});
  }

  // The parts that all norms of the residual stream share. Their weights, and the result that they add first, differ.
  RmsNorm norm_of(const Operand& weight, const Operand& bias) const {
    RmsNorm op;
    op.S = S_;
    op.width = op.x_stride = op.y_stride = op.add_stride = c_.hidden;
    op.x = column(b_.hidden, first_ * c_.hidden);
    op.y = b_.normed;
    op.weight = weight;
    op.bias = bias;
    op.centred = c_.layer_norm;
    op.biased = c_.has_norm_bias();
    op.eps = c_.norm_eps;
    op.round_f16 = options_.round_f16;
    op.add_scale = c_.residual_scale;
    return op;
  }

  // The norm before a block. First it adds the result of the block before to the residual stream.
  void norm(const char* name, const Operand& weight, const Operand& bias, bool has_residual) {
    if (c_.sum_norms) {
      if (options_.round_f16) take_unnormed(name, false);
      return;
    }
    if (!c_.pre_norms) return take_unnormed(name, has_residual);
    RmsNorm op = norm_of(weight, bias);
    if (has_residual) op.add = b_.projected;
    add(name, op);
  }

  // A block without a norm before it reads the residual stream as it is.
  void take_unnormed(const std::string& name, bool has_residual) {
    const int64_t H = c_.hidden;
    const Operand hidden = column(b_.hidden, first_ * H);
    TANDEM_CHECK(c_.residual_scale == 1, "a scale on residual branches is a part of the norm");
    if (has_residual) add(name + "_residual", Add{S_, H, hidden, b_.projected, H, H});
    add(name + "_input", Copy{S_, 1, H, hidden, b_.normed, H, 0, H, 0, options_.round_f16});
  }

  // What a block multiplies. An encoder's residual stream is normed already, so it is read where it is unless it has to
  // be rounded first.
  Operand block_input() const {
    return c_.sum_norms && !options_.round_f16 ? column(b_.hidden, first_ * c_.hidden) : b_.normed;
  }

  // The norm of the residual stream behind a block, whose result is added first. It is the new residual stream.
  void sum_norm(const char* name, const Operand& weight, const Operand& bias) {
    RmsNorm op = norm_of(weight, bias);
    op.add = b_.projected;
    add(name, of_sum(op));
  }

  // Written in place, and never rounded: the residual stream is f32.
  static RmsNorm of_sum(RmsNorm op) {
    op.y = op.x;
    op.round_f16 = false;
    return op;
  }

  // The norm after a block, before its result is added to the residual stream.
  void post_norm(const char* name, const Operand& weight) {
    norm_in_place(name, b_.projected, c_.hidden, 1, c_.hidden, weight);
  }

  // Norms `groups` groups of `width` values in every row.
  void norm_in_place(const char* name, const Operand& x, int64_t stride, int64_t groups, int64_t width,
                     const Operand& weight) {
    RmsNorm op;
    op.S = S_;
    op.groups = groups;
    op.width = width;
    op.x = op.y = x;
    op.x_stride = op.y_stride = stride;
    op.weight = weight;
    op.eps = c_.norm_eps;
    add(name, op);
  }

  // The matrices for each token's slots: its experts, or all matrices of the stack in turn.
  struct Choices {
    int64_t slots = 0;
    bool routed = false;
    Operand ids{}, lists{};
    int64_t waves = 1;  // more: the lists have the choices of one wave
    Operand experts{};  // numbers of experts, where `ids` may be those of slots
  };
  // Addresses of the slots: slot i of token s lies at s * stride + i * slot.
  struct Slots {
    Operand at;
    int64_t stride = 0, slot = 0;
  };

  void expert_products(const LayerWeights& layer, const Choices& choices, const Operand& normed,
                       const std::string& suffix) {
    const int64_t k = c_.experts->used, I = c_.experts->feed_forward, H = c_.hidden;
    const std::string up = "ffn_gate_up" + suffix, down = "ffn_down" + suffix;
    stacked(up, layer.expert_gate_up, choices, {normed, H, 0}, {b_.expert_gate_up, k * 2 * I, 2 * I});
    scale_experts(up, layer.expert_gate_up, choices, b_.expert_gate_up);
    // A file may have both biases in one tensor.
    const bool joined = layer.expert_gate_bias && !layer.expert_up_bias;
    add_expert_bias("ffn_gate" + suffix, layer.expert_gate_bias, choices, joined ? 2 * I : I, b_.expert_gate_up, 2 * I);
    if (!joined)
      add_expert_bias("ffn_up" + suffix, layer.expert_up_bias, choices, I, column(b_.expert_gate_up, I), 2 * I);
    Glu each{S_, I, b_.expert_gate_up, column(b_.expert_gate_up, I), 2 * I, 2 * I, b_.expert_activated, I};
    each.rows = k;
    glu(suffix, each);
    stacked(down, layer.expert_down, choices, {b_.expert_activated, k * I, I}, {b_.expert_found, k * H, H});
    scale_experts(down, layer.expert_down, choices, b_.expert_found);
    add_expert_bias(down, layer.expert_down_bias, choices, H, b_.expert_found, H);
  }

  // The factors of each choice's expert, on the columns of their matrices.
  void scale_experts(const std::string& name, const MatrixStack& stack, const Choices& choices, const Operand& y) {
    for (const ExpertFactors& f : stack.factors) {
      Scale op{S_, f.columns, column(y, f.column_begin), stack.rows};
      op.factors = f.factors;
      add(name + ".factor", of_chosen(op, choices));
    }
  }

  // An operator on the rows of all choices. Where experts move, choices have slots; rows of other waves are done then.
  template <typename Op>
  Op of_chosen(Op op, const Choices& choices) const {
    op.rows = choices.slots, op.experts = c_.experts->count;
    op.chosen = true;
    op.ids = choices.experts;
    if (!w_.moving.empty()) op.places = choices.ids;
    return op;
  }

  // The bias of each choice's expert.
  void add_expert_bias(const std::string& name, const Operand& bias, const Choices& choices, int64_t width,
                       const Operand& y, int64_t stride) {
    if (!c_.experts->biases) return;
    add(name + ".bias", of_chosen(Bias{S_, width, y, stride, bias}, choices));
  }

  // Experts that move come in waves, and each wave computes the choices of its experts. The unit computes all rows in
  // every wave: rows of later waves are computed again there, and rows of earlier ones have the same values again.
  void moving_experts(const LayerWeights& layer, const Operand& ids, const Operand& weights, const Operand& normed) {
    const MovingExperts& moving = w_.moving[static_cast<size_t>(layer_)];
    const int64_t E = c_.experts->count, k = c_.experts->used,
                  waves = expert_waves(S_ * k, E, moving.slots - moving.given_back);
    const Operand lists = S_ > kTokensWithoutLists || waves > 1 ? b_.expert_lists : Operand{};
    for (int64_t wave = 0; wave < waves; ++wave) {
      const std::string suffix = wave == 0 ? "_exps" : "_exps_wave" + std::to_string(wave);
      ExpertFetch fetch;
      fetch.S = S_, fetch.E = E, fetch.k = k;
      fetch.wave = wave, fetch.layer = layer_;
      fetch.slots = moving.slots, fetch.slot_bytes = moving.slot_bytes;
      fetch.ids = ids, fetch.weights = weights;
      fetch.places = b_.expert_places, fetch.lists = lists;
      fetch.experts = moving.experts, fetch.source = moving.source;
      add("ffn_fetch" + suffix, fetch);
      expert_products(layer, {k, true, b_.expert_places, lists, waves, ids}, normed, suffix);
    }
  }

  // One operator for each part of the stack. Names have a number if there are several parts.
  void stacked(const std::string& name, const MatrixStack& stack, const Choices& choices, const Slots& x,
               const Slots& y) {
    for (size_t i = 0; i < stack.parts.size(); ++i) {
      const StackPart& part = stack.parts[i];
      GroupedMatMul op;
      op.S = S_;
      op.slots = choices.slots;
      op.routed = choices.routed;
      op.w = part.stack;
      op.act_i8 = takes_act_i8(part.stack.format);
      op.ids = choices.ids, op.lists = choices.lists;
      op.listed_only = choices.waves > 1;
      op.share = 1.0 / static_cast<double>(choices.waves);
      op.x = x.at, op.x_stride = x.stride, op.x_slot = x.slot;
      op.y = column(y.at, part.column_begin), op.y_stride = y.stride, op.y_slot = y.slot;
      add(stack.parts.size() == 1 ? name : name + ("." + std::to_string(i)), op);
    }
  }

  // One operator for each matrix of the group; each writes its columns of y. decides: a router's product, whose input
  // is not quantised.
  void matmul(const std::string& name, const MatrixGroup& group, const Operand& x, int64_t S, const Operand& y,
              bool decides = false) {
    for (size_t i = 0; i < group.parts.size(); ++i) {
      const MatrixPart& part = group.parts[i];
      MatMul op;
      op.S = S;
      op.K = group.columns;
      op.row_end = part.matrix.rows;
      op.w = part.matrix;
      op.x = x;
      op.x_stride = group.columns;
      op.y = column(y, part.column_begin);
      op.y_stride = group.rows;
      op.decides = decides;
      op.act_i8 = !decides && takes_act_i8(part.matrix.format);
      add(group.parts.size() == 1 ? name : name + ("." + std::to_string(i)), op);
    }
    for (const ColumnFactor& f : group.factors)
      add(name + ".factor", Scale{S, f.columns, column(y, f.column_begin), group.rows, f.factor});
  }

  // The configuration says whether there is a bias: in a model of shapes only, its operands are empty.
  void add_bias(const std::string& name, const MatrixGroup& group, int64_t S, const Operand& y) {
    add(name + ".bias", Bias{S, group.rows, y, group.rows, group.bias});
  }

  bool takes_act_i8(const PackedFormat& format) const { return options_.act_i8 && misfit_act_i8(format) == nullptr; }
  Operand column(const Operand& matrix, int64_t index) const {
    return advanced(matrix, index * static_cast<int64_t>(sizeof(float)));
  }
  static Operand advanced(const Operand& operand, int64_t bytes) {
    return operand ? operand.advanced(static_cast<size_t>(bytes)) : operand;
  }
  void add(const std::string& name, OperatorBody body) {
    operators_.push_back({prefix_ + name, std::move(body), layer_});
  }

  const ModelConfig& c_;
  const ModelWeights& w_;
  const Activations& b_;
  const Batch& batch_;
  const GraphOptions& options_;
  int64_t window_ = 0;                // window of the current layer
  bool drops_behind_router_ = false;  // this layer drops tokens without logits once they are routed
  int64_t S_, first_ = 0;             // the current tokens: S_ of them, from the batch's token first_ on
  int64_t layer_ = -1;
  std::string prefix_;
  std::vector<Operator> operators_;
};

}  // namespace

std::vector<Operator> build_decoder(const Model& model, const Activations& buffers, const Batch& batch,
                                    const GraphOptions& options) {
  TANDEM_CHECK(batch.S > 0 && batch.S <= buffers.sizes.tokens, "tokens of a pass");
  TANDEM_CHECK(batch.segments > 0 && batch.segments <= buffers.sizes.segments, "segments of a pass");
  TANDEM_CHECK(!batch.trees || buffers.sizes.tree_depth > 0, "trees of a pass");
  TANDEM_CHECK(batch.logit_rows >= 0 && batch.logit_rows <= batch.S &&
                   batch.logit_rows <= std::max<int64_t>(buffers.sizes.logit_rows, 1),
               "logit rows of a pass");
  return Builder(model, buffers, batch, options).build();
}

}  // namespace tandem
