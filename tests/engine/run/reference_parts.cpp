#include "tests/engine/run/reference_parts.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "sync/error.h"

namespace tandem::testing {

void add(Rows& x, const Rows& y, double scale) {
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

double squared_relu(double x) { return x > 0 ? x * x : 0; }

Rows gated(const Rows& gate, const Rows& up, double (*activation)(double)) {
  Rows y = gate;
  for (size_t s = 0; s < y.size(); ++s)
    for (size_t i = 0; i < y[s].size(); ++i) y[s][i] = activation(gate[s][i]) * up[s][i];
  return y;
}

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

double capped(double x, double cap) { return cap > 0 ? cap * std::tanh(x / cap) : x; }

Rows attend(const Rows& q, const Rows& k, const Rows& v, const Heads& heads) {
  const auto S = static_cast<int64_t>(q.size());
  Rows y(q.size(), Row(static_cast<size_t>(heads.count * heads.dim_v), 0));
  for (int64_t s = 0; s < S; ++s)
    for (int64_t h = 0; h < heads.count; ++h) {
      const int64_t g = h / (heads.count / heads.kv);
      Row weights;
      const int64_t first = std::max<int64_t>(0, s + 1 - std::min(heads.window, s + 1));
      const int64_t last = heads.sees_all ? S - 1 : s;
      for (int64_t p = first; p <= last; ++p) {
        double score = 0;
        for (int64_t i = 0; i < heads.dim; ++i) score += q[s][h * heads.dim + i] * k[p][g * heads.dim + i];
        weights.push_back(capped(score * heads.scale, heads.cap));
        if (!heads.slopes.empty())
          weights.back() -= heads.slopes[static_cast<size_t>(h)] * static_cast<double>(std::abs(s - p));
      }
      const double top = *std::ranges::max_element(weights);
      double sum = 0;
      for (double& weight : weights) sum += weight = std::exp(weight - top);
      for (int64_t p = first; p <= last; ++p)
        for (int64_t i = 0; i < heads.dim_v; ++i)
          y[s][h * heads.dim_v + i] += weights[p - first] / sum * v[p][g * heads.dim_v + i];
    }
  return y;
}

Row Weights::vector(const std::string& name) const {
  const GgufTensor& tensor = file_.require(name);
  TANDEM_CHECK(tensor.type == StorageType::f32 || tensor.type == StorageType::nvfp4,
               "the reference reads F32 and NVFP4: " + name);
  const StorageTypeInfo& type = info(tensor.type);
  std::vector<float> values(tensor.bytes / type.block_bytes * type.block_values);
  decode_row(tensor.type, tensor.data, values.data(), std::ssize(values));
  return {values.begin(), values.end()};
}

Rows Weights::multiply(const std::string& name, const Rows& x) const {
  return multiply(name, x, 0, static_cast<int64_t>(vector(name).size() / x.front().size()));
}

Rows Weights::multiply(const std::string& name, const Rows& x, int64_t index, int64_t rows) const {
  const Row w = vector(name);
  const size_t K = x.front().size(), N = static_cast<size_t>(rows), first = static_cast<size_t>(index) * N * K;
  Rows y(x.size(), Row(N, 0));
  for (size_t s = 0; s < x.size(); ++s)
    for (size_t n = 0; n < N; ++n)
      for (size_t i = 0; i < K; ++i) y[s][n] += w[first + n * K + i] * x[s][i];
  const std::string scale = name.substr(0, name.rfind('.')) + ".scale";
  if (file_.require(name).type != StorageType::nvfp4 || !has(scale)) return y;
  const double factor = vector(scale)[static_cast<size_t>(index)];
  for (Row& row : y)
    for (double& value : row) value *= factor;
  return y;
}

Rows Weights::project(const std::string& name, const Rows& x) const {
  Rows y = multiply(name + ".weight", x);
  if (has(name + ".bias")) add(y, Rows(y.size(), vector(name + ".bias")));
  return y;
}

Rows Weights::norm(const std::string& name, Rows x) const {
  const Row w = vector(name);
  const std::string bias_name = name.substr(0, name.rfind('.')) + ".bias";
  const Row bias = has(bias_name) ? vector(bias_name) : Row();
  const bool is_centred = number("attention.layer_norm_epsilon", 0) > 0;
  for (Row& row : x)
    for (size_t g = 0; g < row.size(); g += w.size()) {
      double mean = 0, squares = 0;
      for (size_t i = 0; i < w.size() && is_centred; ++i) mean += row[g + i] / static_cast<double>(w.size());
      for (size_t i = 0; i < w.size(); ++i) squares += (row[g + i] - mean) * (row[g + i] - mean);
      const double inverse = 1 / std::sqrt(squares / static_cast<double>(w.size()) + eps());
      for (size_t i = 0; i < w.size(); ++i)
        row[g + i] = (row[g + i] - mean) * inverse * w[i] + (bias.empty() ? 0 : bias[i]);
    }
  return x;
}

Rows Weights::embed(std::span<const int32_t> ids, double scale) const {
  const Row w = vector("token_embd.weight");
  const auto H = static_cast<size_t>(number("embedding_length"));
  Rows x;
  for (const int32_t id : ids) {
    x.emplace_back(w.begin() + static_cast<int64_t>(id * H), w.begin() + static_cast<int64_t>((id + 1) * H));
    for (double& value : x.back()) value *= scale;
  }
  return x;
}

Rows Weights::output(const Rows& hidden, double scale) const {
  Rows logits = project(has("output.weight") ? "output" : "token_embd", norm("output_norm.weight", hidden));
  for (Row& row : logits)
    for (double& value : row) value *= scale;
  return logits;
}

Heads Weights::heads() const {
  Heads heads;
  heads.count = static_cast<int64_t>(number("attention.head_count"));
  heads.kv = static_cast<int64_t>(number("attention.head_count_kv"));
  const double dim = number("embedding_length") / static_cast<double>(heads.count);
  heads.dim = static_cast<int64_t>(number("attention.key_length", dim));
  heads.dim_v = static_cast<int64_t>(number("attention.value_length", dim));
  heads.scale = 1 / std::sqrt(static_cast<double>(heads.dim));
  return heads;
}

Rotation Weights::rotation(bool halves) const {
  const auto dim = static_cast<int64_t>(number("rope.dimension_count", static_cast<double>(heads().dim)));
  return {dim, halves, number("rope.freq_base", 10000), 1 / number("rope.scaling.factor", 1)};
}

double Weights::eps() const {
  return number("attention.layer_norm_epsilon", number("attention.layer_norm_rms_epsilon", 1e-5));
}

Rows self_attention(const Weights& w, const std::string& layer, const Heads& heads, const Rotation& rotation, Rows q,
                    Rows k, const Rows& v) {
  rotate(q, heads.count, heads.dim, rotation);
  rotate(k, heads.kv, heads.dim, rotation);
  return w.project(layer + "attn_output", attend(q, k, v, heads));
}

void norm_each_head(Rows& x, const Row& weights, int64_t heads, double eps) {
  const size_t width = weights.size() / static_cast<size_t>(heads);
  for (Row& row : x)
    for (size_t at = 0; at < weights.size(); at += width) {
      double mean = 0, squares = 0;
      for (size_t i = 0; i < width; ++i) mean += row[at + i] / static_cast<double>(width);
      for (size_t i = 0; i < width; ++i) squares += (row[at + i] - mean) * (row[at + i] - mean);
      const double root = std::sqrt(squares / static_cast<double>(width) + eps);
      for (size_t i = 0; i < width; ++i) row[at + i] = (row[at + i] - mean) / root * weights[at + i];
    }
}

Projected projected(const Weights& w, const std::string& layer, const Rows& x) {
  if (w.has(layer + "attn_qkv.weight")) {
    const Heads heads = w.heads();
    const Rows all = w.project(layer + "attn_qkv", x);
    const int64_t q = heads.count * heads.dim, k = heads.kv * heads.dim;
    return {columns(all, 0, q), columns(all, q, k), columns(all, q + k, heads.kv * heads.dim_v)};
  }
  return {w.project(layer + "attn_q", x), w.project(layer + "attn_k", x), w.project(layer + "attn_v", x)};
}

Rows feed_forward(const Weights& w, const std::string& layer, const Rows& x, double (*activation)(double)) {
  const Rows active = gated(w.project(layer + "ffn_gate", x), w.project(layer + "ffn_up", x), activation);
  return w.project(layer + "ffn_down", active);
}

Rows plain_feed_forward(const Weights& w, const std::string& layer, const Rows& x, double (*activation)(double)) {
  Rows active = w.project(layer + "ffn_up", x);
  for (Row& row : active)
    for (double& value : row) value = activation(value);
  return w.project(layer + "ffn_down", active);
}

Rows fused_feed_forward(const Weights& w, const std::string& layer, const Rows& x) {
  const Rows both = w.multiply(layer + "ffn_up.weight", x);
  const auto I = static_cast<int64_t>(both.front().size() / 2);
  return w.multiply(layer + "ffn_down.weight", gated(columns(both, 0, I), columns(both, I, I), silu));
}

Rows shared_experts(const Weights& w, const std::string& layer, const Rows& x) {
  const Rows active =
      gated(w.multiply(layer + "ffn_gate_shexp.weight", x), w.multiply(layer + "ffn_up_shexp.weight", x), silu);
  return w.multiply(layer + "ffn_down_shexp.weight", active);
}

Rows mixture(const Weights& w, const std::string& layer, const Rows& x, const Mixing& mixing) {
  const auto H = static_cast<int64_t>(x.front().size());
  const auto I = static_cast<int64_t>(w.vector(layer + "ffn_down_exps.weight").size()) / (mixing.experts * H);
  const Rows scores = w.multiply(layer + "ffn_gate_inp.weight", x);
  Rows y(x.size(), Row(x.front().size(), 0));
  for (size_t s = 0; s < x.size(); ++s) {
    std::vector<int64_t> order(static_cast<size_t>(mixing.experts));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](int64_t e) { return scores[s][static_cast<size_t>(e)]; });
    double all = 0, chosen = 0;
    for (int64_t e = 0; e < mixing.experts; ++e) {
      const double weight = std::exp(scores[s][static_cast<size_t>(order[static_cast<size_t>(e)])]);
      all += weight;
      if (e < mixing.used) chosen += weight;
    }
    for (int64_t i = 0; i < mixing.used; ++i) {
      const int64_t e = order[static_cast<size_t>(i)];
      const double weight =
          mixing.scale * std::exp(scores[s][static_cast<size_t>(e)]) / (mixing.normalised ? chosen : all);
      const Rows token = {x[s]};
      const Rows active = gated(w.multiply(layer + "ffn_gate_exps.weight", token, e, I),
                                w.multiply(layer + "ffn_up_exps.weight", token, e, I), silu);
      Rows sum = {y[s]};
      add(sum, w.multiply(layer + "ffn_down_exps.weight", active, e, H), weight);
      y[s] = sum.front();
    }
  }
  return y;
}

Rows decode(const Weights& w, std::span<const int32_t> ids, const Decoder& decoder) {
  Rows x = w.embed(ids, decoder.embedding);
  for (int64_t i = 0; i < w.layers(); ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    const Rows before = x;
    add(x, decoder.attention(i, layer, x), decoder.branch);
    add(x, decoder.feed_forward(i, layer, decoder.parallel ? before : x), decoder.branch);
  }
  return w.output(x, decoder.logits);
}

}  // namespace tandem::testing
