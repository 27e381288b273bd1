#include "tests/engine/run/reference_forward.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "sync/error.h"
#include "tests/engine/run/reference_mixtures.h"
#include "tests/engine/run/reference_parts.h"

namespace tandem::testing {
namespace {

// A Llama: a norm before each block, rotated heads, a gated feed-forward network.
Decoder llama(const Weights& w, bool halves, double (*activation)(double) = silu) {
  Decoder decoder;
  decoder.attention = [&w, halves](int64_t, const std::string& layer, const Rows& x) {
    const Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
    return self_attention(w, layer, w.heads(), w.rotation(halves), p.q, p.k, p.v);
  };
  decoder.feed_forward = [&w, activation](int64_t, const std::string& layer, const Rows& x) {
    return feed_forward(w, layer, w.norm(layer + "ffn_norm.weight", x), activation);
  };
  return decoder;
}

// Granite 3 (IBM 2024): scales on embeddings, attention scores, residual branches and logits.
Decoder granite_decoder(const Weights& w) {
  Decoder decoder = llama(w, false);
  decoder.attention = [&w](int64_t, const std::string& layer, const Rows& x) {
    const Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
    Heads heads = w.heads();
    heads.scale = w.number("attention.scale", heads.scale);
    return self_attention(w, layer, heads, w.rotation(false), p.q, p.k, p.v);
  };
  decoder.embedding = w.number("embedding_scale", 1);
  decoder.branch = w.number("residual_scale", 1);
  decoder.logits = 1 / w.number("logit_scale", 1);
  return decoder;
}

Rows granite(const Weights& w, std::span<const int32_t> ids) { return decode(w, ids, granite_decoder(w)); }

// Phi-3 (Abdin et al. 2024, arXiv:2404.14219): one matrix holds q, k and v, another gate and up. Some sizes attend to
// a window. Some divide frequencies by factors; the tests' context is longer than the original one.
Rows phi3(const Weights& w, std::span<const int32_t> ids) {
  Heads heads = w.heads();
  if (const double window = w.number("attention.sliding_window", 0); window > 0)
    heads.window = static_cast<int64_t>(window);
  Rotation rotation = w.rotation(true);
  if (w.has("rope_factors_long.weight")) {
    rotation.factors = w.vector("rope_factors_long.weight");
    rotation.magnitude = w.number("rope.scaling.attn_factor");
  }
  Decoder decoder;
  decoder.attention = [&w, heads, rotation](int64_t, const std::string& layer, const Rows& x) {
    const Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
    return self_attention(w, layer, heads, rotation, p.q, p.k, p.v);
  };
  decoder.feed_forward = [&w](int64_t, const std::string& layer, const Rows& x) {
    return fused_feed_forward(w, layer, w.norm(layer + "ffn_norm.weight", x));
  };
  return decode(w, ids, decoder);
}

// Norms before and behind each block. `heads` and `rotation` are those of a layer.
Decoder normed_around(const Weights& w, const std::function<Heads(int64_t index)>& heads,
                      const std::function<Rotation(int64_t index)>& rotation, bool norms_heads) {
  Decoder decoder;
  decoder.attention = [&w, heads, rotation, norms_heads](int64_t i, const std::string& layer, const Rows& x) {
    Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
    if (norms_heads) {
      p.q = w.norm(layer + "attn_q_norm.weight", p.q);
      p.k = w.norm(layer + "attn_k_norm.weight", p.k);
    }
    return w.norm(layer + "post_attention_norm.weight", self_attention(w, layer, heads(i), rotation(i), p.q, p.k, p.v));
  };
  decoder.feed_forward = [&w](int64_t, const std::string& layer, const Rows& x) {
    const Rows inner = w.norm(layer + "ffn_norm.weight", x);
    return w.norm(layer + "post_ffw_norm.weight", feed_forward(w, layer, inner, gelu_tanh));
  };
  decoder.embedding = std::sqrt(w.number("embedding_length"));
  return decoder;
}

// Gemma 2 (Gemma Team 2024, arXiv:2408.00118): every other layer attends to a window. Scores and logits are capped, and
// each block's contribution is normed.
Rows gemma2(const Weights& w, std::span<const int32_t> ids) {
  const auto heads_of = [&w](int64_t i) {
    Heads heads = w.heads();
    heads.cap = w.number("attn_logit_softcapping");
    if (i % 2 == 0) heads.window = static_cast<int64_t>(w.number("attention.sliding_window"));
    return heads;
  };
  Rows logits = decode(w, ids,
                       normed_around(
                           w, heads_of, [&w](int64_t) { return w.rotation(true); }, false));
  for (Row& row : logits)
    for (double& value : row) value = capped(value, w.number("final_logit_softcapping"));
  return logits;
}

// Gemma 3 (Gemma Team 2025, arXiv:2503.19786): five of six layers attend to a window with a rotation of their own.
// Every head of q and k is normed, and so is each block's contribution.
Rows gemma3(const Weights& w, std::span<const int32_t> ids) {
  const auto heads_of = [&w](int64_t i) {
    Heads heads = w.heads();
    if (i % 6 != 5) heads.window = static_cast<int64_t>(w.number("attention.sliding_window"));
    return heads;
  };
  const auto rotation_of = [&w](int64_t i) { return i % 6 == 5 ? w.rotation(true) : Rotation{w.heads().dim, true}; };
  return decode(w, ids, normed_around(w, heads_of, rotation_of, true));
}

// Gemma (Gemma Team 2024, arXiv:2403.08295): scaled embeddings, and a GELU as the gate.
Rows gemma(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, true, gelu_tanh);
  decoder.embedding = std::sqrt(w.number("embedding_length"));
  return decode(w, ids, decoder);
}

// ERNIE 4.5 (Baidu 2025), dense.
Rows ernie4_5(const Weights& w, std::span<const int32_t> ids) { return decode(w, ids, llama(w, false)); }

// EXAONE 3 (LG AI Research 2024, arXiv:2408.03541).
Rows exaone(const Weights& w, std::span<const int32_t> ids) { return decode(w, ids, llama(w, true)); }

// Norms every head of q and k where the file has weights for it.
Projected with_head_norms(const Weights& w, const std::string& layer, Projected p) {
  const Heads heads = w.heads();
  if (!w.has(layer + "attn_q_norm.weight")) return p;
  norm_each_head(p.q, w.vector(layer + "attn_q_norm.weight"), heads.count, w.eps());
  norm_each_head(p.k, w.vector(layer + "attn_k_norm.weight"), heads.kv, w.eps());
  return p;
}

// StableLM 2 (Bellagente et al. 2024, arXiv:2402.17834): LayerNorms, and a part of each head is rotated. In the 12B
// size heads are normed, and both blocks read one norm.
Rows stablelm(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, true);
  decoder.attention = [&w](int64_t, const std::string& layer, const Rows& x) {
    const Projected p = with_head_norms(w, layer, projected(w, layer, w.norm(layer + "attn_norm.weight", x)));
    return self_attention(w, layer, w.heads(), w.rotation(true), p.q, p.k, p.v);
  };
  decoder.parallel = !w.has("blk.0.ffn_norm.weight");
  if (decoder.parallel)
    decoder.feed_forward = [&w](int64_t, const std::string& layer, const Rows& x) {
      return feed_forward(w, layer, w.norm(layer + "attn_norm.weight", x), silu);
    };
  return decode(w, ids, decoder);
}

// MiniCPM (Hu et al. 2024, arXiv:2404.06395): scales on embeddings, residual branches and logits.
Rows minicpm(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, false);
  decoder.embedding = w.number("embedding_scale");
  decoder.branch = w.number("residual_scale");
  decoder.logits = 1 / w.number("logit_scale");
  return decode(w, ids, decoder);
}

// Seed-OSS (ByteDance 2025): files have another name for the norm before the feed-forward network.
Rows seed_oss(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, true);
  decoder.feed_forward = [&w](int64_t, const std::string& layer, const Rows& x) {
    return feed_forward(w, layer, w.norm(layer + "post_attention_norm.weight", x), silu);
  };
  return decode(w, ids, decoder);
}

// GLM-4-0414 (Z.ai 2025): norms before and behind each block, and one tensor for gate and up.
Rows glm4(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, false);
  decoder.attention = [&w, inner = decoder.attention](int64_t i, const std::string& layer, const Rows& x) {
    return w.norm(layer + "post_attention_norm.weight", inner(i, layer, x));
  };
  decoder.feed_forward = [&w](int64_t, const std::string& layer, const Rows& x) {
    const Rows inner = w.norm(layer + "ffn_norm.weight", x);
    return w.norm(layer + "post_ffw_norm.weight", fused_feed_forward(w, layer, inner));
  };
  return decode(w, ids, decoder);
}

// SmolLM3 (Hugging Face 2025): every fourth layer has no rotation.
Rows smollm3(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, false);
  decoder.attention = [&w](int64_t i, const std::string& layer, const Rows& x) {
    const Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
    Rotation rotation = w.rotation(false);
    if (i % 4 == 3) rotation.dim = 0;
    return self_attention(w, layer, w.heads(), rotation, p.q, p.k, p.v);
  };
  return decode(w, ids, decoder);
}

// Blocks read the residual stream as it is, and their results are normed. If the model has a window, three of four
// layers attend to it.
Decoder normed_behind(const Weights& w, const std::function<Rotation(bool has_window)>& rotation) {
  Decoder decoder;
  decoder.attention = [&w, rotation](int64_t i, const std::string& layer, const Rows& x) {
    const Projected p = projected(w, layer, x);
    Heads heads = w.heads();
    const double window = w.number("attention.sliding_window", 0);
    const bool has_window = window > 0 && i % 4 < 3;
    if (has_window) heads.window = static_cast<int64_t>(window);
    const Rows q = w.norm(layer + "attn_q_norm.weight", p.q), k = w.norm(layer + "attn_k_norm.weight", p.k);
    return w.norm(layer + "post_attention_norm.weight",
                  self_attention(w, layer, heads, rotation(has_window), q, k, p.v));
  };
  decoder.feed_forward = [&w](int64_t, const std::string& layer, const Rows& x) {
    return w.norm(layer + "post_ffw_norm.weight", feed_forward(w, layer, x, silu));
  };
  return decoder;
}

// OLMo 2 and 3 (OLMo Team 2024, arXiv:2501.00656): the rotation of layers with a window is not stretched.
Rows olmo2(const Weights& w, std::span<const int32_t> ids) {
  return decode(w, ids, normed_behind(w, [&w](bool has_window) {
                  Rotation rotation = w.rotation(true);
                  if (has_window) rotation.position_scale = 1;
                  return rotation;
                }));
}

// EXAONE 4 (LG AI Research 2025, arXiv:2507.11407): beside layers with a window, those that see all positions have no
// rotation of their heads.
Rows exaone4(const Weights& w, std::span<const int32_t> ids) {
  return decode(w, ids, normed_behind(w, [&w](bool has_window) {
                  Rotation rotation = w.rotation(true);
                  if (!has_window && w.number("attention.sliding_window", 0) > 0) rotation.dim = 0;
                  return rotation;
                }));
}

// Hunyuan (Tencent 2025): heads of q and k are normed behind their rotation.
Decoder hunyuan(const Weights& w) {
  Decoder decoder = llama(w, true);
  decoder.attention = [&w](int64_t, const std::string& layer, const Rows& x) {
    Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
    const Heads heads = w.heads();
    rotate(p.q, heads.count, heads.dim, w.rotation(true));
    rotate(p.k, heads.kv, heads.dim, w.rotation(true));
    const Rows q = w.norm(layer + "attn_q_norm.weight", p.q), k = w.norm(layer + "attn_k_norm.weight", p.k);
    return w.multiply(layer + "attn_output.weight", attend(q, k, p.v, heads));
  };
  return decoder;
}

Rows hunyuan_dense(const Weights& w, std::span<const int32_t> ids) { return decode(w, ids, hunyuan(w)); }

// A feed-forward network without a gate. If the blocks are parallel, it reads attention's norm.
void take_plain_network(const Weights& w, double (*activation)(double), Decoder& decoder) {
  const std::string norm = decoder.parallel ? "attn_norm.weight" : "ffn_norm.weight";
  decoder.feed_forward = [&w, activation, norm](int64_t, const std::string& layer, const Rows& x) {
    return plain_feed_forward(w, layer, w.norm(layer + norm, x), activation);
  };
}

// AFM (Arcee AI 2025): a Llama with a squared ReLU without a gate.
Rows arcee(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, false);
  take_plain_network(w, squared_relu, decoder);
  return decode(w, ids, decoder);
}

// Nemotron-4 (Parmar et al. 2024, arXiv:2402.16819): the same network, LayerNorms, and a part of each head is rotated.
Rows nemotron(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, true);
  take_plain_network(w, squared_relu, decoder);
  return decode(w, ids, decoder);
}

// StarCoder2 (Lozhkov et al. 2024, arXiv:2402.19173): LayerNorms, biases, a GELU without a gate, and a window.
Rows starcoder2(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, true);
  decoder.attention = [&w](int64_t, const std::string& layer, const Rows& x) {
    const Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
    Heads heads = w.heads();
    heads.window = static_cast<int64_t>(w.number("attention.sliding_window", 4096));
    return self_attention(w, layer, heads, w.rotation(true), p.q, p.k, p.v);
  };
  take_plain_network(w, gelu_tanh, decoder);
  return decode(w, ids, decoder);
}

// Phi-2 (Li et al. 2023, arXiv:2309.05463): both blocks read one norm, and everything has biases.
Rows phi2(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, true);
  decoder.parallel = true;
  take_plain_network(w, gelu_tanh, decoder);
  return decode(w, ids, decoder);
}

// Command R (Cohere 2024): both blocks read one LayerNorm without a bias, and the logits are scaled. Command R+ norms
// its heads. If the model has a window, every fourth layer sees all positions instead and does not rotate its heads.
Rows command_r(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder;
  decoder.parallel = true;
  decoder.logits = w.number("logit_scale", 1);
  decoder.attention = [&w](int64_t i, const std::string& layer, const Rows& x) {
    const Projected p = with_head_norms(w, layer, projected(w, layer, w.norm(layer + "attn_norm.weight", x)));
    Heads heads = w.heads();
    Rotation rotation = w.rotation(false);
    if (const double window = w.number("attention.sliding_window", 0); window > 0) {
      if (i % 4 == 3)
        rotation.dim = 0;
      else
        heads.window = static_cast<int64_t>(window);
    }
    return self_attention(w, layer, heads, rotation, p.q, p.k, p.v);
  };
  decoder.feed_forward = [&w](int64_t, const std::string& layer, const Rows& x) {
    return feed_forward(w, layer, w.norm(layer + "attn_norm.weight", x), silu);
  };
  return decode(w, ids, decoder);
}

// The pair of values that turns `turns` times over the trained context (Peng et al. 2023, arXiv:2309.00071).
double pair_of_turns(const Rotation& rotation, double context, double turns) {
  return static_cast<double>(rotation.dim) * std::log(context / (2 * M_PI * turns)) / (2 * std::log(rotation.base));
}

// YaRN divides the frequency of slow pairs by the factor: those that turn less than once over the trained context.
// Pairs that turn more than 32 times keep theirs, and a ramp joins the two.
Rotation yarn(const Weights& w, bool halves) {
  Rotation rotation = w.rotation(halves);
  rotation.position_scale = 1;
  const double factor = w.number("rope.scaling.factor"), context = w.number("rope.scaling.original_context_length");
  const double begin = std::max(0.0, std::floor(pair_of_turns(rotation, context, 32)));
  const double end = std::min(static_cast<double>(rotation.dim - 1), std::ceil(pair_of_turns(rotation, context, 1)));
  for (int64_t i = 0; i < rotation.dim / 2; ++i) {
    const double part = std::min(1.0, std::max(0.0, (static_cast<double>(i) - begin) / std::max(0.001, end - begin)));
    rotation.factors.push_back(1 / (part / factor + 1 - part));
  }
  const auto magnitude = [factor](double m) { return 0.1 * m * std::log(factor) + 1; };
  rotation.magnitude = magnitude(1) / magnitude(w.number("rope.scaling.yarn_log_multiplier", 0));
  return rotation;
}

// Ministral 3 (Mistral AI 2025): YaRN, and queries grow with the logarithm of how often their position has passed the
// trained context.
Rows mistral3(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, false);
  decoder.attention = [&w](int64_t, const std::string& layer, const Rows& x) {
    Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
    const double context = w.number("rope.scaling.original_context_length");
    for (size_t s = 0; s < p.q.size(); ++s)
      for (double& value : p.q[s])
        value *=
            1 + w.number("attention.temperature_scale") * std::log(1 + std::floor(static_cast<double>(s) / context));
    return self_attention(w, layer, w.heads(), yarn(w, false), p.q, p.k, p.v);
  };
  return decode(w, ids, decoder);
}

Mixing mixing_of(const Weights& w, bool normalised) {
  return {static_cast<int64_t>(w.number("expert_count")), static_cast<int64_t>(w.number("expert_used_count")),
          normalised, w.number("expert_weights_scale", 1)};
}

// A mixture, beside shared experts in some models.
void take_mixture(const Weights& w, bool normalised, Decoder& decoder) {
  decoder.feed_forward = [&w, normalised](int64_t, const std::string& layer, const Rows& x) {
    const Rows inner = w.norm(layer + "ffn_norm.weight", x);
    Rows y = mixture(w, layer, inner, mixing_of(w, normalised));
    if (w.has(layer + "ffn_gate_shexp.weight")) add(y, shared_experts(w, layer, inner));
    return y;
  };
}

Rows hunyuan_moe(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = hunyuan(w);
  take_mixture(w, true, decoder);
  return decode(w, ids, decoder);
}

// Ling (Ling Team 2025, arXiv:2503.05139): the file says whether weights are normalised.
Rows bailingmoe(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, false);
  take_mixture(w, w.flag("expert_weights_norm"), decoder);
  return decode(w, ids, decoder);
}

// The text parts of Qwen2-VL (Wang et al. 2024, arXiv:2409.12191) and Qwen3-VL (Qwen 2025): heads of q and k are normed
// in the second.
Rows qwen_vl(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = llama(w, true);
  if (w.has("blk.0.attn_q_norm.weight"))
    decoder.attention = [&w](int64_t, const std::string& layer, const Rows& x) {
      Projected p = projected(w, layer, w.norm(layer + "attn_norm.weight", x));
      p.q = w.norm(layer + "attn_q_norm.weight", p.q);
      p.k = w.norm(layer + "attn_k_norm.weight", p.k);
      return self_attention(w, layer, w.heads(), w.rotation(true), p.q, p.k, p.v);
    };
  if (w.architecture() == "qwen3vlmoe") take_mixture(w, true, decoder);
  return decode(w, ids, decoder);
}

// Granite 3 MoE (IBM 2024): Granite's scales, and the weights of the chosen experts are a softmax of their own.
Rows granitemoe(const Weights& w, std::span<const int32_t> ids) {
  Decoder decoder = granite_decoder(w);
  take_mixture(w, true, decoder);
  return decode(w, ids, decoder);
}

const std::map<std::string, Forward> kForwards = {
    {"arcee", arcee},
    {"bailingmoe", bailingmoe},
    {"cohere2", command_r},
    {"command-r", command_r},
    {"ernie4_5", ernie4_5},
    {"exaone", exaone},
    {"exaone4", exaone4},
    {"gemma", gemma},
    {"gemma2", gemma2},
    {"gemma3", gemma3},
    {"glm4", glm4},
    {"granite", granite},
    {"granitemoe", granitemoe},
    {"hunyuan-dense", hunyuan_dense},
    {"hunyuan-moe", hunyuan_moe},
    {"minicpm", minicpm},
    {"mistral3", mistral3},
    {"nemotron", nemotron},
    {"olmo2", olmo2},
    {"phi2", phi2},
    {"phi3", phi3},
    {"qwen2vl", qwen_vl},
    {"qwen3vl", qwen_vl},
    {"qwen3vlmoe", qwen_vl},
    {"seed_oss", seed_oss},
    {"smollm3", smollm3},
    {"stablelm", stablelm},
    {"starcoder2", starcoder2},
};

}  // namespace

std::vector<float> reference_logits(const GgufFile& file, std::span<const int32_t> ids) {
  const Weights weights(file);
  auto forward = kForwards.find(weights.architecture());
  if (forward == kForwards.end()) forward = mixture_forwards().find(weights.architecture());
  if (forward == mixture_forwards().end()) throw Error("no reference of this architecture", weights.architecture());
  std::vector<float> logits;
  for (const Row& row : forward->second(weights, ids)) logits.insert(logits.end(), row.begin(), row.end());
  return logits;
}

}  // namespace tandem::testing
