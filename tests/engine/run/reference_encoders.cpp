#include "tests/engine/run/reference_encoders.h"

#include <cmath>
#include <string>

namespace tandem::testing {
namespace {

// Embeddings of tokens, of the first type, and of positions if there are any.
Rows embedded(const Weights& w, std::span<const int32_t> ids) {
  Rows x = w.embed(ids, 1);
  const size_t H = x.front().size();
  const Row types = w.vector("token_types.weight");
  const Row positions = w.has("position_embd.weight") ? w.vector("position_embd.weight") : Row(ids.size() * H, 0);
  for (size_t s = 0; s < x.size(); ++s)
    for (size_t i = 0; i < H; ++i) x[s][i] += types[i] + positions[s * H + i];
  return w.norm("token_embd_norm.weight", x);
}

// ALiBi (Press et al. 2021): of n heads, n a power of two, the slopes are the powers of 2^(-8 / n). Other numbers take
// those of the next smaller power of two, and then every second one of twice as many.
Row slopes_of(int64_t heads) {
  int64_t n = 1;
  while (2 * n <= heads) n *= 2;
  Row slopes;
  for (int64_t h = 1; h <= n; ++h)
    slopes.push_back(std::pow(2.0, -8.0 * static_cast<double>(h) / static_cast<double>(n)));
  for (int64_t h = 1; std::ssize(slopes) < heads; h += 2)
    slopes.push_back(std::pow(2.0, -4.0 * static_cast<double>(h) / static_cast<double>(n)));
  return slopes;
}

// BERT (Devlin et al. 2018): biases, no rotation, a GELU without a gate. Nomic (Nussbaum et al. 2024) has a rotation
// and a gate. Jina 2 (Günther et al. 2023) has ALiBi and a gated GELU.
bool is_jina(const Weights& w) { return w.architecture() == "jina-bert-v2"; }
bool is_gated(const Weights& w) { return w.has("blk.0.ffn_gate.weight"); }

}  // namespace

Rows reference_states(const GgufFile& file, std::span<const int32_t> ids) {
  const Weights w(file);
  Heads heads = w.heads();
  heads.sees_all = true;
  Rotation rotation = w.rotation(true);
  if (w.has("position_embd.weight") || is_jina(w)) rotation.dim = 0;
  if (is_jina(w)) heads.slopes = slopes_of(heads.count);
  Rows x = embedded(w, ids);
  for (int64_t i = 0; i < w.layers(); ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    const Projected p = projected(w, layer, x);
    add(x, self_attention(w, layer, heads, rotation, p.q, p.k, p.v));
    x = w.norm(layer + "attn_output_norm.weight", x);
    add(x, is_jina(w)    ? feed_forward(w, layer, x, gelu_tanh)
           : is_gated(w) ? feed_forward(w, layer, x, silu)
                         : plain_feed_forward(w, layer, x, gelu_tanh));
    x = w.norm(layer + "layer_output_norm.weight", x);
  }
  return x;
}

Row pooled(const Rows& states, Pooling pooling) {
  Row vector = pooling == Pooling::cls ? states.front() : states.back();
  if (pooling == Pooling::mean)
    for (size_t s = 0; s + 1 < states.size(); ++s)
      for (size_t i = 0; i < vector.size(); ++i) vector[i] += states[s][i];
  double square = 0;
  for (const double value : vector) square += value * value;
  for (double& value : vector) value /= std::sqrt(square);
  return vector;
}

double cosine_distance(std::span<const double> a, std::span<const float> b) {
  double product = 0, squares_a = 0, squares_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += a[i] * b[i];
    squares_a += a[i] * a[i];
    squares_b += static_cast<double>(b[i]) * b[i];
  }
  return 1 - product / std::sqrt(squares_a * squares_b);
}

}  // namespace tandem::testing
