#include "tests/engine/run/reference_forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

#include "sync/error.h"

namespace tandem::testing {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // one for each token

void add(Rows& x, const Rows& y, double scale = 1) {
  for (size_t s = 0; s < x.size(); ++s)
    for (size_t i = 0; i < x[s].size(); ++i) x[s][i] += scale * y[s][i];
}

Rows columns(const Rows& x, int64_t begin, int64_t count) {
  Rows part;
  for (const Row& row : x) part.emplace_back(row.begin() + begin, row.begin() + begin + count);
  return part;
}

double silu(double x) { return x / (1 + std::exp(-x)); }
// The approximation in Gemma's description (Hendrycks and Gimpel 2016, arXiv:1606.08415).
double gelu_tanh(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

Rows gated(const Rows& gate, const Rows& up, double (*activation)(double)) {
  Rows y = gate;
  for (size_t s = 0; s < y.size(); ++s)
    for (size_t i = 0; i < y[s].size(); ++i) y[s][i] = activation(gate[s][i]) * up[s][i];
  return y;
}

// The rotation of q and k by the positions in one layer.
struct Rotation {
  int64_t dim = 0;
  bool halves = true;  // pairs (i, i + dim / 2), else (2 i, 2 i + 1)
  double base = 10000, position_scale = 1, magnitude = 1;
  Row factors = {};  // [dim / 2]: each pair's frequency is divided by it; empty: by 1
};

void rotate(Rows& x, int64_t heads, int64_t head_dim, const Rotation& by) {
  for (size_t s = 0; s < x.size(); ++s)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < by.dim / 2; ++i) {
        double angle = static_cast<double>(s) * by.position_scale *
                       std::pow(by.base, -2.0 * static_cast<double>(i) / static_cast<double>(by.dim));
        if (!by.factors.empty()) angle /= by.factors[static_cast<size_t>(i)];
        const int64_t first = h * head_dim + (by.halves ? i : 2 * i), second = first + (by.halves ? by.dim / 2 : 1);
        const double a = x[s][first], b = x[s][second];
        x[s][first] = by.magnitude * (a * std::cos(angle) - b * std::sin(angle));
        x[s][second] = by.magnitude * (a * std::sin(angle) + b * std::cos(angle));
      }
}

struct Heads {
  int64_t count = 0, kv = 0, dim = 0, dim_v = 0;
  double scale = 1, cap = 0;                             // cap 0: none
  int64_t window = std::numeric_limits<int64_t>::max();  // the positions that a token sees, including its own
};

double capped(double x, double cap) { return cap > 0 ? cap * std::tanh(x / cap) : x; }

Rows attend(const Rows& q, const Rows& k, const Rows& v, const Heads& heads) {
  const auto S = static_cast<int64_t>(q.size());
  Rows y(q.size(), Row(static_cast<size_t>(heads.count * heads.dim_v), 0));
  for (int64_t s = 0; s < S; ++s)
    for (int64_t h = 0; h < heads.count; ++h) {
      const int64_t g = h / (heads.count / heads.kv);
      Row weights;
      const int64_t first = std::max<int64_t>(0, s + 1 - std::min(heads.window, s + 1));
      for (int64_t p = first; p <= s; ++p) {
        double score = 0;
        for (int64_t i = 0; i < heads.dim; ++i) score += q[s][h * heads.dim + i] * k[p][g * heads.dim + i];
        weights.push_back(capped(score * heads.scale, heads.cap));
      }
      const double top = *std::ranges::max_element(weights);
      double sum = 0;
      for (double& weight : weights) sum += weight = std::exp(weight - top);
      for (int64_t p = first; p <= s; ++p)
        for (int64_t i = 0; i < heads.dim_v; ++i)
          y[s][h * heads.dim_v + i] += weights[p - first] / sum * v[p][g * heads.dim_v + i];
    }
  return y;
}

// The tensors and keys of a file.
class Weights {
 public:
  explicit Weights(const GgufFile& file) : file_(file), architecture_(file.require_string("general.architecture")) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  Row vector(const std::string& name) const {
    const GgufTensor& tensor = file_.require(name);
    TANDEM_CHECK(tensor.type == StorageType::f32, "the reference reads F32: " + name);
    std::vector<float> values(tensor.bytes / sizeof(float));
    std::memcpy(values.data(), tensor.data, tensor.bytes);
    return {values.begin(), values.end()};
  }
  Rows multiply(const std::string& name, const Rows& x) const {
    const Row w = vector(name);
    const size_t K = x.front().size(), N = w.size() / K;
    Rows y(x.size(), Row(N, 0));
    for (size_t s = 0; s < x.size(); ++s)
      for (size_t n = 0; n < N; ++n)
        for (size_t i = 0; i < K; ++i) y[s][n] += w[n * K + i] * x[s][i];
    return y;
  }
  // The root-mean-square norm of every `width` values.
  Rows norm(const std::string& name, Rows x) const {
    const Row w = vector(name);
    for (Row& row : x)
      for (size_t g = 0; g < row.size(); g += w.size()) {
        double squares = 0;
        for (size_t i = 0; i < w.size(); ++i) squares += row[g + i] * row[g + i];
        const double inverse = 1 / std::sqrt(squares / static_cast<double>(w.size()) + eps());
        for (size_t i = 0; i < w.size(); ++i) row[g + i] *= inverse * w[i];
      }
    return x;
  }
  Rows embed(std::span<const int32_t> ids, double scale) const {
    const Row w = vector("token_embd.weight");
    const auto H = static_cast<size_t>(number("embedding_length"));
    Rows x;
    for (const int32_t id : ids) {
      x.emplace_back(w.begin() + static_cast<int64_t>(id * H), w.begin() + static_cast<int64_t>((id + 1) * H));
      for (double& value : x.back()) value *= scale;
    }
    return x;
  }
  Rows output(const Rows& hidden, double scale = 1) const {
    Rows logits =
        multiply(has("output.weight") ? "output.weight" : "token_embd.weight", norm("output_norm.weight", hidden));
    for (Row& row : logits)
      for (double& value : row) value *= scale;
    return logits;
  }

  double number(const std::string& key) const { return file_.require_float(architecture_ + "." + key); }
  double number(const std::string& key, double otherwise) const {
    return file_.get_float(architecture_ + "." + key).value_or(otherwise);
  }
  int64_t layers() const { return static_cast<int64_t>(number("block_count")); }
  Heads heads() const {
    Heads heads;
    heads.count = static_cast<int64_t>(number("attention.head_count"));
    heads.kv = static_cast<int64_t>(number("attention.head_count_kv"));
    const double dim = number("embedding_length") / static_cast<double>(heads.count);
    heads.dim = static_cast<int64_t>(number("attention.key_length", dim));
    heads.dim_v = static_cast<int64_t>(number("attention.value_length", dim));
    heads.scale = 1 / std::sqrt(static_cast<double>(heads.dim));
    return heads;
  }
  const std::string& architecture() const { return architecture_; }

 private:
  double eps() const { return number("attention.layer_norm_rms_epsilon"); }

  const GgufFile& file_;
  std::string architecture_;
};

// The attention of one layer, from the normed input to its contribution to the residual stream.
Rows self_attention(const Weights& w, const std::string& layer, const Heads& heads, const Rotation& rotation, Rows q,
                    Rows k, const Rows& v) {
  rotate(q, heads.count, heads.dim, rotation);
  rotate(k, heads.kv, heads.dim, rotation);
  return w.multiply(layer + "attn_output.weight", attend(q, k, v, heads));
}

// Granite 3 (IBM 2024): a Llama with scales on embeddings, attention scores, residual branches and logits.
Rows granite(const Weights& w, std::span<const int32_t> ids) {
  Heads heads = w.heads();
  heads.scale = w.number("attention.scale", heads.scale);
  const double branch = w.number("residual_scale", 1);
  const Rotation rotation{heads.dim, false, w.number("rope.freq_base", 10000)};
  Rows x = w.embed(ids, w.number("embedding_scale", 1));
  for (int64_t i = 0; i < w.layers(); ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    const Rows normed = w.norm(layer + "attn_norm.weight", x);
    add(x,
        self_attention(w, layer, heads, rotation, w.multiply(layer + "attn_q.weight", normed),
                       w.multiply(layer + "attn_k.weight", normed), w.multiply(layer + "attn_v.weight", normed)),
        branch);
    const Rows inner = w.norm(layer + "ffn_norm.weight", x);
    const Rows active =
        gated(w.multiply(layer + "ffn_gate.weight", inner), w.multiply(layer + "ffn_up.weight", inner), silu);
    add(x, w.multiply(layer + "ffn_down.weight", active), branch);
  }
  return w.output(x, 1 / w.number("logit_scale", 1));
}

// Phi-3 (Abdin et al. 2024, arXiv:2404.14219): one matrix holds q, k and v, another gate and up. Some sizes attend to
// a window.
Rows phi3(const Weights& w, std::span<const int32_t> ids) {
  Heads heads = w.heads();
  if (const double window = w.number("attention.sliding_window", 0); window > 0)
    heads.window = static_cast<int64_t>(window);
  const auto dim = static_cast<int64_t>(w.number("rope.dimension_count", static_cast<double>(heads.dim)));
  const Rotation rotation{dim, true, w.number("rope.freq_base", 10000)};
  Rows x = w.embed(ids, 1);
  for (int64_t i = 0; i < w.layers(); ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    const Rows qkv = w.multiply(layer + "attn_qkv.weight", w.norm(layer + "attn_norm.weight", x));
    const int64_t q = heads.count * heads.dim, k = heads.kv * heads.dim;
    add(x, self_attention(w, layer, heads, rotation, columns(qkv, 0, q), columns(qkv, q, k),
                          columns(qkv, q + k, heads.kv * heads.dim_v)));
    const Rows both = w.multiply(layer + "ffn_up.weight", w.norm(layer + "ffn_norm.weight", x));
    const auto I = static_cast<int64_t>(w.number("feed_forward_length"));
    add(x, w.multiply(layer + "ffn_down.weight", gated(columns(both, 0, I), columns(both, I, I), silu)));
  }
  return w.output(x);
}

// Gemma 2 (Gemma Team 2024, arXiv:2408.00118): every other layer attends to a window. Scores and logits are capped, and
// each block's contribution is normed.
Rows gemma2(const Weights& w, std::span<const int32_t> ids) {
  const Rotation rotation{w.heads().dim, true, w.number("rope.freq_base", 10000)};
  Rows x = w.embed(ids, std::sqrt(w.number("embedding_length")));
  for (int64_t i = 0; i < w.layers(); ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    Heads heads = w.heads();
    heads.cap = w.number("attn_logit_softcapping");
    if (i % 2 == 0) heads.window = static_cast<int64_t>(w.number("attention.sliding_window"));
    const Rows normed = w.norm(layer + "attn_norm.weight", x);
    const Rows attended =
        self_attention(w, layer, heads, rotation, w.multiply(layer + "attn_q.weight", normed),
                       w.multiply(layer + "attn_k.weight", normed), w.multiply(layer + "attn_v.weight", normed));
    add(x, w.norm(layer + "post_attention_norm.weight", attended));
    const Rows inner = w.norm(layer + "ffn_norm.weight", x);
    const Rows active =
        gated(w.multiply(layer + "ffn_gate.weight", inner), w.multiply(layer + "ffn_up.weight", inner), gelu_tanh);
    add(x, w.norm(layer + "post_ffw_norm.weight", w.multiply(layer + "ffn_down.weight", active)));
  }
  Rows logits = w.output(x);
  for (Row& row : logits)
    for (double& value : row) value = capped(value, w.number("final_logit_softcapping"));
  return logits;
}

// Gemma 3 (Gemma Team 2025, arXiv:2503.19786): five of six layers attend to a window with a rotation of their own.
// Every head of q and k is normed, and so is each block's contribution.
Rows gemma3(const Weights& w, std::span<const int32_t> ids) {
  const Rotation global{w.heads().dim, true, w.number("rope.freq_base", 1e6), 1 / w.number("rope.scaling.factor", 1)};
  const Rotation local{w.heads().dim, true, 10000};
  Rows x = w.embed(ids, std::sqrt(w.number("embedding_length")));
  for (int64_t i = 0; i < w.layers(); ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    const bool is_global = i % 6 == 5;
    Heads heads = w.heads();
    if (!is_global) heads.window = static_cast<int64_t>(w.number("attention.sliding_window"));
    const Rows normed = w.norm(layer + "attn_norm.weight", x);
    const Rows attended =
        self_attention(w, layer, heads, is_global ? global : local,
                       w.norm(layer + "attn_q_norm.weight", w.multiply(layer + "attn_q.weight", normed)),
                       w.norm(layer + "attn_k_norm.weight", w.multiply(layer + "attn_k.weight", normed)),
                       w.multiply(layer + "attn_v.weight", normed));
    add(x, w.norm(layer + "post_attention_norm.weight", attended));
    const Rows inner = w.norm(layer + "ffn_norm.weight", x);
    const Rows active =
        gated(w.multiply(layer + "ffn_gate.weight", inner), w.multiply(layer + "ffn_up.weight", inner), gelu_tanh);
    add(x, w.norm(layer + "post_ffw_norm.weight", w.multiply(layer + "ffn_down.weight", active)));
  }
  return w.output(x);
}

}  // namespace

std::vector<float> reference_logits(const GgufFile& file, std::span<const int32_t> ids) {
  const Weights weights(file);
  const auto forward = weights.architecture() == "granite"  ? granite
                       : weights.architecture() == "phi3"   ? phi3
                       : weights.architecture() == "gemma2" ? gemma2
                       : weights.architecture() == "gemma3" ? gemma3
                                                            : nullptr;
  if (forward == nullptr) throw Error("no reference of this architecture", weights.architecture());
  std::vector<float> logits;
  for (const Row& row : forward(weights, ids)) logits.insert(logits.end(), row.begin(), row.end());
  return logits;
}

}  // namespace tandem::testing
