#include "tests/engine/run/reference_mixtures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace tandem::testing {
namespace {

// The weights of all experts for one token: a softmax, or a sigmoid of each score.
Row gate_weights(const Row& scores, bool sigmoid) {
  Row weights;
  for (const double score : scores) weights.push_back(sigmoid ? 1 / (1 + std::exp(-score)) : std::exp(score));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sigmoid ? 1 : sum;
  return weights;
}

std::vector<size_t> falling(const Row& keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return keys[i]; });
  return order;
}

struct Router {
  bool sigmoid = false, normalised = false, both = false;  // both: a group counts as the sum of its best two
  size_t used = 1, groups = 1, groups_used = 1;
  double scale = 1;
};

// The experts of a token, by what they are chosen by.
std::vector<size_t> chosen(const Row& keys, const Router& router) {
  const size_t each = keys.size() / router.groups;
  Row of_groups;
  for (size_t g = 0; g < router.groups; ++g) {
    Row own(keys.begin() + static_cast<int64_t>(g * each), keys.begin() + static_cast<int64_t>((g + 1) * each));
    std::ranges::sort(own, std::greater());
    of_groups.push_back(own[0] + (router.both ? own[1] : 0));
  }
  std::vector<size_t> groups = falling(of_groups), experts;
  groups.resize(router.groups_used);
  for (const size_t e : falling(keys))
    if (std::ranges::find(groups, e / each) != groups.end() && experts.size() < router.used) experts.push_back(e);
  return experts;
}

Rows expert(const Weights& w, const std::string& layer, const Row& x, int64_t e, int64_t I) {
  const Rows token = {x};
  const Rows active = gated(w.multiply(layer + "ffn_gate_exps.weight", token, e, I),
                            w.multiply(layer + "ffn_up_exps.weight", token, e, I), silu);
  return w.multiply(layer + "ffn_down_exps.weight", active, e, static_cast<int64_t>(x.size()));
}

Rows routed(const Weights& w, const std::string& layer, const Rows& x, const Router& router) {
  const auto I = static_cast<int64_t>(w.number("expert_feed_forward_length"));
  const Rows scores = w.multiply(layer + "ffn_gate_inp.weight", x);
  Rows y(x.size(), Row(x.front().size(), 0));
  for (size_t s = 0; s < x.size(); ++s) {
    const Row weights = gate_weights(scores[s], router.sigmoid);
    Rows keys = {weights};
    if (w.has(layer + "exp_probs_b.bias")) add(keys, {w.vector(layer + "exp_probs_b.bias")});
    const std::vector<size_t> experts = chosen(keys.front(), router);
    double sum = 0;
    for (const size_t e : experts) sum += weights[e];
    Rows token = {y[s]};
    for (const size_t e : experts)
      add(token, expert(w, layer, x[s], static_cast<int64_t>(e), I),
          weights[e] / (router.normalised ? sum : 1) * router.scale);
    y[s] = token.front();
  }
  return y;
}

Router router_of(const Weights& w) {
  Router router;
  router.used = static_cast<size_t>(w.number("expert_used_count", 0));
  router.groups = static_cast<size_t>(w.number("expert_group_count", 1));
  router.groups_used = static_cast<size_t>(w.number("expert_group_used_count", 1));
  router.scale = w.number("expert_weights_scale", 1);
  router.sigmoid = w.number("expert_gating_func", 1) == 2;
  router.normalised = w.flag("expert_weights_norm");
  return router;
}

// Layers without a router are dense. The norm before the network has the name `norm`.
void take_routed(const Weights& w, const char* norm, const Router& router, Decoder& decoder) {
  decoder.feed_forward = [&w, norm, router](int64_t, const std::string& layer, const Rows& x) {
    const Rows inner = w.norm(layer + norm + ".weight", x);
    if (!w.has(layer + "ffn_gate_inp.weight")) return feed_forward(w, layer, inner, silu);
    Rows y = routed(w, layer, inner, router);
    if (w.has(layer + "ffn_gate_shexp.weight")) add(y, shared_experts(w, layer, inner));
    return y;
  };
}

// ERNIE 4.5 (Baidu 2025): the weights of a token add up to 1.
Rows ernie4_5_moe(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder;
  decoder.attention = [&w](int64_t, const std::string& layer, const Rows& x) {
    const Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
    return self_attention(w, layer, w.heads(), w.rotation(false), p.q, p.k, p.v);
  };
  Router router = router_of(w);
  router.normalised = true;
  take_routed(w, "ffn_norm", router, decoder);
  return decode(w, ids, decoder);
}

// GLM-4.5 (Z.ai 2025, arXiv:2508.06471): sigmoids, and a part of each head is rotated. Some sizes norm heads of q
// and k.
Rows glm4moe(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder;
  decoder.attention = [&w](int64_t, const std::string& layer, const Rows& x) {
    Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
    if (w.has(layer + "attn_q_norm.weight")) {
      p.q = w.norm(layer + "attn_q_norm.weight", p.q);
      p.k = w.norm(layer + "attn_k_norm.weight", p.k);
    }
    return self_attention(w, layer, w.heads(), w.rotation(true), p.q, p.k, p.v);
  };
  Router router = router_of(w);
  router.sigmoid = router.normalised = router.both = true;
  take_routed(w, "post_attention_norm", router, decoder);
  return decode(w, ids, decoder);
}

// Rotates the last `rope` values of every head of `width`.
void rotate_last(Rows& x, int64_t heads, int64_t width, const Rotation& by) {
  for (int64_t h = 0; h < heads; ++h) {
    Rows part = columns(x, (h + 1) * width - by.dim, by.dim);
    rotate(part, 1, by.dim, by);
    for (size_t s = 0; s < x.size(); ++s) std::ranges::copy(part[s], x[s].begin() + (h + 1) * width - by.dim);
  }
}

Row joined(Row first, const Row& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// DeepSeek-V2 and V3 (DeepSeek-AI 2024, arXiv:2405.04434 and 2412.19437): every head's keys and values are computed
// from a latent, and so are queries from another one in most sizes. A rotated key is shared by all heads.
Rows deepseek2(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder;
  decoder.attention = [&w](int64_t, const std::string& layer, const Rows& x) {
    const auto H = static_cast<int64_t>(w.number("attention.head_count"));
    const auto rank = static_cast<int64_t>(w.number("attention.kv_lora_rank"));
    const auto width = static_cast<int64_t>(w.number("attention.key_length"));
    const auto value = static_cast<int64_t>(w.number("attention.value_length"));
    Rotation rotation = w.rotation(false);
    const int64_t nope = width - rotation.dim;
    const Rows inner = w.norm(layer + "attn_norm.weight", x);
    Rows q = w.has(layer + "attn_q_a.weight")
                 ? w.multiply(layer + "attn_q_b.weight",
                              w.norm(layer + "attn_q_a_norm.weight", w.multiply(layer + "attn_q_a.weight", inner)))
                 : w.multiply(layer + "attn_q.weight", inner);
    const Rows kept = w.multiply(layer + "attn_kv_a_mqa.weight", inner);
    const Rows latent = w.norm(layer + "attn_kv_a_norm.weight", columns(kept, 0, rank));
    Rows shared = columns(kept, rank, rotation.dim);
    rotate(shared, 1, rotation.dim, rotation);
    rotate_last(q, H, width, rotation);
    const Rows both = w.multiply(layer + "attn_kv_b.weight", latent);  // of each head: a key, then a value
    Rows k(x.size()), v(x.size());
    for (size_t s = 0; s < x.size(); ++s)
      for (int64_t h = 0; h < H; ++h) {
        const auto head = both[s].begin() + h * (nope + value);
        k[s] = joined(joined(k[s], Row(head, head + nope)), shared[s]);
        v[s].insert(v[s].end(), head + nope, head + nope + value);
      }
    Heads heads{H, H, width, value, 1 / std::sqrt(static_cast<double>(width))};
    return w.multiply(layer + "attn_output.weight", attend(q, k, v, heads));
  };
  Router router = router_of(w);
  router.both = router.sigmoid;
  take_routed(w, "ffn_norm", router, decoder);
  return decode(w, ids, decoder);
}

// gpt-oss (OpenAI 2025, arXiv:2508.10925): biases everywhere, a clamped gated unit, sinks in the softmax.
Row biased(Rows row, const Row& biases, int64_t index) {
  const auto width = static_cast<int64_t>(row.front().size());
  add(row, {Row(biases.begin() + index * width, biases.begin() + (index + 1) * width)});
  return row.front();
}

Rows clamped_expert(const Weights& w, const std::string& layer, const Row& x, int64_t e, int64_t I) {
  const auto product = [&](const char* name, const Rows& of, int64_t rows) {
    return biased(w.multiply(layer + name + ".weight", of, e, rows), w.vector(layer + name + ".bias"), e);
  };
  Row gate = product("ffn_gate_exps", {x}, I);
  const Row up = product("ffn_up_exps", {x}, I);
  for (size_t i = 0; i < gate.size(); ++i) {
    const double g = std::min(gate[i], 7.0), u = std::clamp(up[i], -7.0, 7.0);
    gate[i] = g / (1 + std::exp(-1.702 * g)) * (u + 1);
  }
  return {product("ffn_down_exps", {gate}, static_cast<int64_t>(x.size()))};
}

Rows clamped_mixture(const Weights& w, const std::string& layer, const Rows& x) {
  const auto used = static_cast<size_t>(w.number("expert_used_count"));
  const auto I = static_cast<int64_t>(w.number("expert_feed_forward_length"));
  const Rows scores = w.project(layer + "ffn_gate_inp", x);
  Rows y(x.size(), Row(x.front().size(), 0));
  for (size_t s = 0; s < x.size(); ++s) {
    std::vector<size_t> experts = falling(scores[s]);
    experts.resize(used);
    double sum = 0;
    for (const size_t e : experts) sum += std::exp(scores[s][e]);
    Rows token = {y[s]};
    for (const size_t e : experts)
      add(token, clamped_expert(w, layer, x[s], static_cast<int64_t>(e), I), std::exp(scores[s][e]) / sum);
    y[s] = token.front();
  }
  return y;
}

// A sink is a position that every token sees. The file has its score, and its value is 0.
Rows attend_with_sinks(const Rows& q, const Rows& k, const Rows& v, const Heads& heads, const Row& sinks) {
  const int64_t d = heads.dim, group = heads.count / heads.kv;
  Rows y(q.size());
  for (int64_t h = 0; h < heads.count; ++h) {
    const int64_t kv = h / group;
    const Rows own_q = columns(q, h * d, d), own_k = columns(k, kv * d, d),
               own_v = columns(v, kv * heads.dim_v, heads.dim_v);
    for (size_t s = 0; s < q.size(); ++s) {
      double sum = std::exp(sinks[static_cast<size_t>(h)]);
      Rows value(1, Row(static_cast<size_t>(heads.dim_v), 0));
      for (size_t p = 0; p <= s; ++p) {
        if (static_cast<int64_t>(s - p) >= heads.window) continue;
        double score = 0;
        for (size_t i = 0; i < own_q[s].size(); ++i) score += own_q[s][i] * own_k[p][i];
        const double weight = std::exp(score * heads.scale);
        sum += weight;
        add(value, {own_v[p]}, weight);
      }
      for (double& one : value.front()) one /= sum;
      y[s].insert(y[s].end(), value.front().begin(), value.front().end());
    }
  }
  return y;
}

// YaRN (Peng et al. 2023, arXiv:2309.00071) without rounding the ends of its ramp. A pair's frequency is divided by the
// factor if it turns less than once over the original context, and not at all if it turns more than 32 times.
Rotation yarn(const Weights& w) {
  Rotation rotation = w.rotation(true);
  const double factor = 1 / rotation.position_scale, context = w.number("rope.scaling.original_context_length", 0);
  rotation.position_scale = 1;
  if (factor == 1) return rotation;
  const auto pair = [&](double turns) {
    return static_cast<double>(rotation.dim) * std::log(context / (turns * 2 * M_PI)) / (2 * std::log(rotation.base));
  };
  const double low = std::max(0.0, pair(32)), high = std::min(static_cast<double>(rotation.dim - 1), pair(1));
  for (int64_t i = 0; i < rotation.dim / 2; ++i) {
    const double slowed = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    rotation.factors.push_back(1 / (slowed / factor + 1 - slowed));
  }
  rotation.magnitude = 0.1 * std::log(factor) + 1;
  return rotation;
}

Rows gpt_oss(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder;
  const Rotation rotation = yarn(w);
  decoder.attention = [&w, rotation](int64_t i, const std::string& layer, const Rows& x) {
    Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
    Heads heads = w.heads();
    if (i % 2 == 0) heads.window = static_cast<int64_t>(w.number("attention.sliding_window"));
    rotate(p.q, heads.count, heads.dim, rotation);
    rotate(p.k, heads.kv, heads.dim, rotation);
    return w.project(layer + "attn_output",
                     attend_with_sinks(p.q, p.k, p.v, heads, w.vector(layer + "attn_sinks.weight")));
  };
  decoder.feed_forward = [&w](int64_t, const std::string& layer, const Rows& x) {
    return clamped_mixture(w, layer, w.norm(layer + "post_attention_norm.weight", x));
  };
  return decode(w, ids, decoder);
}

// Norms every head without weights.
void norm_heads(Rows& x, int64_t width, double eps) {
  for (Row& row : x)
    for (size_t begin = 0; begin < row.size(); begin += static_cast<size_t>(width)) {
      double squares = 0;
      for (int64_t i = 0; i < width; ++i) squares += row[begin + i] * row[begin + i];
      for (int64_t i = 0; i < width; ++i) row[begin + i] /= std::sqrt(squares / static_cast<double>(width) + eps);
    }
}

// Llama 4 (Meta 2025), attention. Three of four layers are rotated and see a chunk of the positions.
Rows llama4_attention(const Weights& w, int64_t index, const std::string& layer, const Rows& x) {
  Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
  const Heads heads = w.heads();
  const auto chunk = static_cast<size_t>(w.number("attention.sliding_window"));
  const double length = w.number("attention.temperature_length"), scale = w.number("attention.temperature_scale");
  if (index % 4 == 3) {
    for (size_t s = 0; s < p.q.size(); ++s)
      for (double& value : p.q[s]) value *= 1 + scale * std::log(1 + std::floor((static_cast<double>(s) + 1) / length));
    return w.project(layer + "attn_output", attend(p.q, p.k, p.v, heads));
  }
  rotate(p.q, heads.count, heads.dim, w.rotation(false));
  rotate(p.k, heads.kv, heads.dim, w.rotation(false));
  norm_heads(p.q, heads.dim, w.number("attention.layer_norm_rms_epsilon"));
  norm_heads(p.k, heads.dim, w.number("attention.layer_norm_rms_epsilon"));
  Rows y;
  for (size_t begin = 0; begin < x.size(); begin += chunk) {
    const auto part = [&](const Rows& rows) {
      return Rows(rows.begin() + begin, rows.begin() + std::min(rows.size(), begin + chunk));
    };
    const Rows more = attend(part(p.q), part(p.k), part(p.v), heads);
    y.insert(y.end(), more.begin(), more.end());
  }
  return w.project(layer + "attn_output", y);
}

// The expert's input is multiplied by the sigmoid of its score.
Rows llama4_experts(const Weights& w, const std::string& layer, const Rows& x) {
  const Rows scores = w.multiply(layer + "ffn_gate_inp.weight", x);
  Rows y = shared_experts(w, layer, x);
  for (size_t s = 0; s < x.size(); ++s) {
    const size_t best = falling(scores[s]).front();
    Rows input(1, Row(x[s].size(), 0));
    add(input, {x[s]}, 1 / (1 + std::exp(-scores[s][best])));
    Rows token = {y[s]};
    add(token, expert(w, layer, input.front(), static_cast<int64_t>(best),
                      static_cast<int64_t>(w.number("expert_feed_forward_length"))));
    y[s] = token.front();
  }
  return y;
}

Rows llama4(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder;
  decoder.attention = [&w](int64_t i, const std::string& layer, const Rows& x) {
    return llama4_attention(w, i, layer, x);
  };
  decoder.feed_forward = [&w](int64_t, const std::string& layer, const Rows& x) {
    const Rows inner = w.norm(layer + "ffn_norm.weight", x);
    return w.has(layer + "ffn_gate_inp.weight") ? llama4_experts(w, layer, inner) : feed_forward(w, layer, inner, silu);
  };
  return decode(w, ids, decoder);
}

}  // namespace

const std::map<std::string, Forward>& mixture_forwards() {
  static const std::map<std::string, Forward> kForwards = {
      {"deepseek2", deepseek2}, {"ernie4_5-moe", ernie4_5_moe}, {"glm4moe", glm4moe}, {"gpt-oss", gpt_oss},
      {"llama4", llama4},
  };
  return kForwards;
}

}  // namespace tandem::testing
