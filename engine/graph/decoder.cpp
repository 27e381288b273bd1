#include "engine/graph/decoder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

// Appends operators for one pass; each method is one part of a layer.
class Builder {
 public:
  Builder(const Model& model, const Activations& buffers, const Batch& batch, const GraphOptions& options)
      : c_(model.config), w_(model.weights), b_(buffers), batch_(batch), options_(options), S_(batch.S) {}

  std::vector<Operator> build() {
    add("token_embd", Embed{batch_.S, c_.hidden, w_.embedding, b_.ids, b_.hidden, c_.embedding_scale});
    for (size_t layer = 0; layer < w_.layers.size(); ++layer) {
      window_ = c_.window_of(static_cast<int64_t>(layer));
      layer_ = static_cast<int64_t>(layer);
      prefix_ = "blk." + std::to_string(layer) + ".";
      project(w_.layers[layer], b_.caches[layer], layer > 0);
      if (layer + 1 == w_.layers.size() && !options_.every_token) drop_tokens_without_logits();
      if (S_ == 0) break;
      attention(w_.layers[layer], b_.caches[layer]);
      feed_forward(w_.layers[layer]);
    }
    layer_ = -1;
    prefix_.clear();
    if (batch_.outputs > 0) output();
    return std::move(operators_);
  }

 private:
  // q, k and v of every token, and the cache filled.
  void project(const LayerWeights& layer, const KvCache& cache, bool has_residual) {
    const int64_t S = S_, q_width = c_.q_width(), qk_width = q_width + c_.k_width(), stride = c_.qkv_width();
    norm("attn_norm", layer.attention_norm, has_residual);
    matmul("attn_qkv", layer.qkv, b_.normed, S, b_.qkv);
    const Operand q = b_.qkv, k = column(b_.qkv, q_width), v = column(b_.qkv, qk_width);
    if (c_.qk_norm) {
      head_norm("attn_q_norm", q, c_.heads, layer.q_norm);
      head_norm("attn_k_norm", k, c_.kv_heads, layer.k_norm);
    }
    // q and k lie side by side with heads of one size: one rotation for both.
    if (c_.rope.dim > 0) {
      const bool is_other = window_ > 0 && c_.window_rope;
      const RopeConfig& rope = is_other ? *c_.window_rope : c_.rope;
      add("rope", Rope{S, c_.heads + c_.kv_heads, c_.head_dim, rope.dim,
                       rope.halves ? RopeLayout::halves : RopeLayout::interleaved, q, stride, b_.positions,
                       is_other ? b_.window_rope_table : b_.rope_table, b_.sizes.positions});
    }
    add("kv_append", KvAppend{S, k, v, stride, stride, b_.positions, cache});
  }

  // What is left of the last layer, once the cache has every token, goes into the logits alone. The residual stream,
  // q and positions keep their places; everything that follows is written from row 0 on.
  void drop_tokens_without_logits() {
    first_ = batch_.S - batch_.outputs;
    S_ = batch_.outputs;
  }

  void attention(const LayerWeights& layer, const KvCache& cache) {
    const int64_t S = S_, stride = c_.qkv_width();
    Attention op;
    op.S = S;
    op.heads = c_.heads;
    op.q = column(b_.qkv, first_ * stride);
    op.q_stride = stride;
    op.y = b_.attended;
    op.y_stride = c_.heads * c_.head_dim_v;
    op.positions = advanced(b_.positions, first_ * static_cast<int64_t>(sizeof(int32_t)));
    op.cache = cache;
    op.scale = c_.attention_scale();
    op.window = window_;
    op.round_f16 = options_.round_f16;
    op.scratch = b_.scratch;
    add("attention", op);
    matmul("attn_output", layer.attention_output, b_.attended, S, b_.projected);
    if (c_.post_norms) post_norm("attn_post_norm", layer.attention_post_norm);
  }

  void feed_forward(const LayerWeights& layer) {
    const int64_t S = S_, I = c_.feed_forward;
    norm("ffn_norm", layer.ffn_norm, true);
    matmul("ffn_gate_up", layer.gate_up, b_.normed, S, b_.gate_up);
    const Glu glu{
        S, I, b_.gate_up, column(b_.gate_up, I), 2 * I, 2 * I, b_.activated, I, options_.round_f16, c_.activation};
    add(glu.kind(), glu);
    matmul("ffn_down", layer.down, b_.activated, S, b_.projected);
    if (c_.post_norms) post_norm("ffn_post_norm", layer.ffn_post_norm);
  }

  void output() {
    RmsNorm op = norm_of(w_.output_norm);
    op.S = batch_.outputs;
    op.x = column(b_.hidden, (batch_.S - op.S) * c_.hidden);
    op.add = column(b_.projected, (S_ - op.S) * c_.hidden);
    add("output_norm", op);
    matmul("output", w_.output, b_.normed, batch_.outputs, b_.logits);
    if (c_.logit_scale != 1)
      add("logit_scale", Scale{batch_.outputs, c_.vocabulary, b_.logits, c_.vocabulary, c_.logit_scale});
  }

  RmsNorm norm_of(const Operand& weight) const {
    RmsNorm op;
    op.S = S_;
    op.width = op.x_stride = op.y_stride = op.add_stride = c_.hidden;
    op.x = column(b_.hidden, first_ * c_.hidden);
    op.y = b_.normed;
    op.weight = weight;
    op.eps = c_.norm_eps;
    op.round_f16 = options_.round_f16;
    op.add_scale = c_.residual_scale;
    return op;
  }

  // The norm before a block; it first adds what the block before produced to the residual stream.
  void norm(const char* name, const Operand& weight, bool has_residual) {
    RmsNorm op = norm_of(weight);
    if (has_residual) op.add = b_.projected;
    add(name, op);
  }

  // The norm behind a block, before what it produced is added.
  void post_norm(const char* name, const Operand& weight) {
    norm_in_place(name, b_.projected, c_.hidden, 1, c_.hidden, weight);
  }

  void head_norm(const char* name, const Operand& heads, int64_t count, const Operand& weight) {
    norm_in_place(name, heads, c_.qkv_width(), count, c_.head_dim, weight);
  }

  // Of `groups` groups of `width` values in every row.
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

  void matmul(const char* name, const MatrixGroup& group, const Operand& x, int64_t S, const Operand& y) {
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
      add(group.parts.size() == 1 ? name : name + ("." + std::to_string(i)), op);
    }
    if (group.bias) add(std::string(name) + ".bias", Bias{S, group.rows, y, group.rows, group.bias});
  }

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
  int64_t window_ = 0;     // of the layer at work
  int64_t S_, first_ = 0;  // the tokens at work: S_, from the batch's token first_ on
  int64_t layer_ = -1;
  std::string prefix_;
  std::vector<Operator> operators_;
};

}  // namespace

std::vector<Operator> build_decoder(const Model& model, const Activations& buffers, const Batch& batch,
                                    const GraphOptions& options) {
  TANDEM_CHECK(batch.S > 0 && batch.S <= buffers.sizes.tokens, "tokens of a pass");
  TANDEM_CHECK(
      batch.outputs >= 0 && batch.outputs <= batch.S && batch.outputs <= std::max<int64_t>(buffers.sizes.outputs, 1),
      "outputs of a pass");
  return Builder(model, buffers, batch, options).build();
}

}  // namespace tandem
