#include "engine/graph/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <span>

#include "engine/model/shapes.h"
#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

MatrixGroup group(int64_t rows, int64_t columns) {
  return {{{{packed_format(StorageType::q4_0), rows, columns, {}}, 0}}, rows, columns, {}};
}

// A model of two layers with shapes only: no pool, no weights.
Model two_layers() {
  Model model;
  ModelConfig& c = model.config;
  c.layers = 2;
  c.hidden = 64;
  c.feed_forward = 128;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = c.head_dim_v = 16;
  c.vocabulary = 512;
  c.rope.dim = 16;
  model.weights.embedding = {packed_format(StorageType::q4_0), 512, 64, {}};
  for (int i = 0; i < 2; ++i) {
    LayerWeights layer;
    layer.qkv = group(c.qkv_width(), 64);
    layer.attention_output = group(64, 64);
    layer.gate_up = group(256, 64);
    layer.down = group(64, 128);
    model.weights.layers.push_back(layer);
  }
  model.weights.output = group(512, 64);
  return model;
}

std::vector<std::string> names(const std::vector<Operator>& operators, const std::string& prefix) {
  std::vector<std::string> list;
  for (const Operator& op : operators) {
    if (op.name.rfind(prefix, 0) == 0) list.push_back(op.name.substr(prefix.size()));
  }
  return list;
}

const Operator& find(const std::vector<Operator>& operators, const std::string& name) {
  for (const Operator& op : operators) {
    if (op.name == name) return op;
  }
  throw Error("no such operator", name);
}

TEST(Decoder, is_a_list_of_operators_in_the_order_of_the_computation) {
  const Model model = two_layers();
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, nullptr);
  const auto operators = build_decoder(model, buffers, {8, 1}, {});
  EXPECT_EQ(operators.front().name, "token_embd");
  EXPECT_THAT(names(operators, "blk.1."), ElementsAre("attn_norm", "attn_qkv", "rope", "kv_append", "attention",
                                                      "attn_output", "ffn_norm", "ffn_gate_up", "swiglu", "ffn_down"));
  EXPECT_THAT(names(operators, "output"), ElementsAre("_norm", ""));
}

TEST(Decoder, computes_logits_only_of_the_tokens_that_need_them) {
  const Model model = two_layers();
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, nullptr);
  const auto some = build_decoder(model, buffers, {8, 3}, {});
  EXPECT_EQ(std::get<MatMul>(find(some, "output").body).S, 3);
  EXPECT_EQ(std::get<RmsNorm>(find(some, "output_norm").body).S, 3);
  const auto none = build_decoder(model, buffers, {8, 0}, {});
  EXPECT_TRUE(names(none, "output").empty());
}

TEST(Decoder, takes_the_last_rows_of_the_residual_stream_for_the_output) {
  const Model model = two_layers();
  sync::Pool pool;
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
  for (const bool every_token : {false, true}) {
    const auto operators = build_decoder(model, buffers, {8, 3}, {.every_token = every_token});
    const RmsNorm& norm = std::get<RmsNorm>(find(operators, "output_norm").body);
    EXPECT_EQ(norm.x.slot, buffers.hidden.slot);
    EXPECT_EQ(norm.x.offset_bytes, 5u * 64u * 4u);
    EXPECT_EQ(norm.add.offset_bytes, (every_token ? 5u : 0u) * 64u * 4u);
  }
}

TEST(Decoder, ends_tokens_without_logits_in_the_last_layers_cache) {
  const Model model = two_layers();
  sync::Pool pool;
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
  const auto operators = build_decoder(model, buffers, {8, 3}, {});
  for (const Operator& op : operators) {
    const bool last_layer = op.name.rfind("blk.1.", 0) == 0, output = op.name.rfind("output", 0) == 0;
    const bool fills_cache = op.name == "blk.1.attn_norm" || op.name == "blk.1.attn_qkv" || op.name == "blk.1.rope" ||
                             op.name == "blk.1.kv_append";
    EXPECT_EQ(tokens_of(op), output || (last_layer && !fills_cache) ? 3 : 8) << op.name;
  }
  const Attention& attention = std::get<Attention>(find(operators, "blk.1.attention").body);
  EXPECT_EQ(attention.q.offset_bytes, 5u * 128u * 4u) << "token 5's row of q, k and v";
  EXPECT_EQ(attention.positions.offset_bytes, 5u * 4u);
  EXPECT_EQ(attention.y.offset_bytes, 0u);
  EXPECT_EQ(std::get<RmsNorm>(find(operators, "blk.1.ffn_norm").body).x.offset_bytes, 5u * 64u * 4u);
  EXPECT_EQ(build_decoder(model, buffers, {8, 0}, {}).back().name, "blk.1.kv_append") << "no logits: only the cache";
  EXPECT_EQ(build_decoder(model, buffers, {8, 0}, {.every_token = true}).back().name, "blk.1.ffn_down");
}

TEST(Decoder, gives_attention_slopes_and_each_tokens_own_position) {
  Model model = two_layers();
  EXPECT_FALSE(
      std::get<Attention>(
          find(build_decoder(model, Activations(model.config, {8, 8, 64, 64, KvType::f16}, nullptr), {8, 3}, {}),
               "blk.1.attention")
              .body)
          .has_slopes);
  model.config.alibi = 8;
  sync::Pool pool;
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
  const auto operators = build_decoder(model, buffers, {8, 3}, {});
  const Attention& attention = std::get<Attention>(find(operators, "blk.1.attention").body);
  EXPECT_TRUE(attention.has_slopes);
  EXPECT_EQ(attention.slopes.as<float>()[0],
            std::exp2(-8.0f / std::bit_floor(static_cast<uint32_t>(model.config.heads))));
  EXPECT_EQ(attention.token_positions.slot, buffers.positions.slot);
  EXPECT_EQ(attention.token_positions.offset_bytes, 5u * 4u) << "tokens 0 to 4 ended in the cache";
}

TEST(Decoder, adds_the_previous_blocks_result_in_the_norm_that_follows_it) {
  const Model model = two_layers();
  sync::Pool pool;
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
  const auto operators = build_decoder(model, buffers, {8, 1}, {});
  EXPECT_FALSE(std::get<RmsNorm>(find(operators, "blk.0.attn_norm").body).add) << "nothing came before the first block";
  for (const char* name : {"blk.0.ffn_norm", "blk.1.attn_norm", "blk.1.ffn_norm", "output_norm"}) {
    EXPECT_EQ(std::get<RmsNorm>(find(operators, name).body).add.slot, buffers.projected.slot) << name;
  }
}

TEST(Decoder, rounds_exactly_the_inputs_of_matmuls_when_asked_to) {
  const Model model = two_layers();
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, nullptr);
  for (bool round : {false, true}) {
    for (const Operator& op : build_decoder(model, buffers, {8, 1}, {round})) {
      if (const auto* norm = std::get_if<RmsNorm>(&op.body)) {
        EXPECT_EQ(norm->round_f16, round) << op.name;
      }
      if (const auto* attention = std::get_if<Attention>(&op.body)) {
        EXPECT_EQ(attention->round_f16, round);
      }
      if (const auto* swiglu = std::get_if<Glu>(&op.body)) {
        EXPECT_EQ(swiglu->round_f16, round);
      }
    }
  }
}

TEST(Decoder, asks_for_codes_of_activations_where_weights_are_integers) {
  Model model = two_layers();
  model.weights.layers[1].down.parts[0].matrix.format = packed_format(StorageType::f16);
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, nullptr);
  for (const ActType act : {ActType::f32, ActType::f16, ActType::i8})
    for (const Operator& op : build_decoder(model, buffers, {8, 1}, graph_options(act))) {
      if (const auto* norm = std::get_if<RmsNorm>(&op.body)) {
        EXPECT_EQ(norm->round_f16, act == ActType::f16) << op.name;
      }
      if (const auto* matmul = std::get_if<MatMul>(&op.body)) {
        EXPECT_EQ(matmul->act_i8, act == ActType::i8 && op.name != "blk.1.ffn_down") << op.name;
      }
    }
}

TEST(Decoder, normalises_heads_and_adds_biases_where_the_model_has_them) {
  Model model = two_layers();
  model.config.qk_norm = model.config.qkv_bias = true;
  sync::Pool pool;
  const Operand bias{&pool.acquire(4096, sync::SlotUse::weights, "bias"), 0};
  for (LayerWeights& layer : model.weights.layers) layer.qkv.bias = bias;
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
  const auto operators = build_decoder(model, buffers, {8, 1}, {});
  EXPECT_THAT(names(operators, "blk.0.attn_"), ElementsAre("norm", "qkv", "qkv.bias", "q_norm", "k_norm", "output"));
  const RmsNorm& k_norm = std::get<RmsNorm>(find(operators, "blk.0.attn_k_norm").body);
  EXPECT_EQ(k_norm.groups, 2);
  EXPECT_EQ(k_norm.x.offset_bytes, 64u * 4u) << "k starts behind q";
  EXPECT_FALSE(k_norm.round_f16) << "it is no matmul's input";
}

// A model of shapes has no operand for a bias. Its decoder adds the bias all the same.
TEST(Decoder, adds_the_biases_that_the_configuration_says) {
  for (const char* shape : {"qwen2.5-1.5b", "phi-3.5-moe", "llama-3-8b", "starcoder2-3b"}) {
    const ModelConfig config = model_shape(shape);
    const Activations buffers(config, {8, 8, 64, 64, KvType::f16}, nullptr);
    const Model model = shape_only_model(config, packed_format(StorageType::q4_0));
    std::set<std::string> biases;
    const auto operators = build_decoder(model, buffers, {8, 1}, {});
    for (const Operator& op : operators)
      if (op.name.ends_with(".bias")) biases.insert(op.name);
    for (const char* name : {"blk.1.attn_norm", "blk.1.ffn_norm", "output_norm"})
      EXPECT_EQ(std::get<RmsNorm>(find(operators, name).body).biased, config.layer_norm) << shape << " " << name;
    EXPECT_EQ(biases.contains("blk.1.attn_qkv.bias"), config.qkv_bias) << shape;
    EXPECT_EQ(biases.contains("blk.1.attn_output.bias"), config.output_bias) << shape;
    EXPECT_EQ(biases.contains("blk.1.ffn_up.bias"), config.ffn_bias) << shape;
    EXPECT_EQ(biases.contains("output.bias"), config.logits_bias) << shape;
  }
}

// Attention's result is added to the residual stream, because the network's norm does not do it: there is none. The
// network reads the rows of attention's norm that belong to the last tokens.
TEST(Decoder, runs_parallel_blocks_on_one_norm) {
  Model model = two_layers();
  model.config.parallel = true;
  sync::Pool pool;
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
  const auto operators = build_decoder(model, buffers, {8, 3}, {});
  EXPECT_THAT(names(operators, "blk.1."),
              ElementsAre("attn_norm", "attn_qkv", "rope", "kv_append", "attention", "attn_output", "attn_residual",
                          "ffn_gate_up", "swiglu", "ffn_down"));
  const Add& residual = std::get<Add>(find(operators, "blk.1.attn_residual").body);
  EXPECT_EQ(residual.S, 3);
  EXPECT_EQ(residual.x.slot, buffers.hidden.slot);
  EXPECT_EQ(residual.x.offset_bytes, 5u * 64u * 4u);
  EXPECT_EQ(residual.y.slot, buffers.projected.slot);
  const MatMul& up = std::get<MatMul>(find(operators, "blk.1.ffn_gate_up").body);
  EXPECT_EQ(up.x.slot, buffers.normed.slot);
  EXPECT_EQ(up.x.offset_bytes, 5u * 64u * 4u);
  EXPECT_EQ(std::get<MatMul>(find(operators, "blk.0.ffn_gate_up").body).x.offset_bytes, 0u);
  EXPECT_EQ(std::get<RmsNorm>(find(operators, "output_norm").body).add.slot, buffers.projected.slot);
}

TEST(Decoder, runs_networks_without_a_gate_and_adds_their_biases) {
  const ModelConfig config = model_shape("phi-2");
  sync::Pool pool;
  const Activations buffers(config, {8, 8, 64, 64, KvType::f16}, nullptr);
  const Model model = shape_only_model(config, packed_format(StorageType::q4_0));
  const auto operators = build_decoder(model, buffers, {8, 8}, {});
  EXPECT_THAT(names(operators, "blk.1.ffn_"), ElementsAre("up", "up.bias", "down", "down.bias"));
  const Glu& unit = std::get<Glu>(find(operators, "blk.1.gelu_tanh").body);
  EXPECT_FALSE(unit.gated);
  EXPECT_EQ(unit.gate_stride, config.feed_forward);
  EXPECT_EQ(std::get<MatMul>(find(operators, "blk.1.ffn_up").body).y_stride, config.feed_forward);
  EXPECT_EQ(std::get<Bias>(find(operators, "blk.1.ffn_up.bias").body).width, config.feed_forward);
}

// Below the length of a temperature one rotation serves q and k.
TEST(Decoder, rotates_queries_with_a_temperature_by_a_table_of_their_own) {
  Model model = two_layers();
  sync::Pool pool;
  for (const int64_t length : {63, 64}) {
    model.config.temperature = TemperatureConfig{0.1f, length};
    const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
    const auto operators = build_decoder(model, buffers, {8, 1}, {});
    const auto found = names(operators, "blk.0.rope");
    if (length == 64) {
      EXPECT_THAT(found, ElementsAre(""));
      EXPECT_FALSE(buffers.query_rope_table);
      continue;
    }
    EXPECT_THAT(found, ElementsAre("_k", "_q"));
    const Rope &k = std::get<Rope>(find(operators, "blk.0.rope_k").body),
               &q = std::get<Rope>(find(operators, "blk.0.rope_q").body);
    EXPECT_EQ(k.heads, 2);
    EXPECT_EQ(k.x.offset_bytes, 64u * 4u);
    EXPECT_EQ(k.table.slot, buffers.rope_table.slot);
    EXPECT_EQ(q.heads, 4);
    EXPECT_EQ(q.table.slot, buffers.query_rope_table.slot);
  }
}

TEST(Decoder, writes_matrices_of_different_formats_side_by_side) {
  Model model = two_layers();
  MatrixGroup& qkv = model.weights.layers[0].qkv;
  qkv.parts = {{{packed_format(StorageType::q4_0), 96, 64, {}}, 0},
               {{packed_format(StorageType::q6_k), 32, 64, {}}, 96}};
  sync::Pool pool;
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
  const auto operators = build_decoder(model, buffers, {8, 1}, {});
  const MatMul& second = std::get<MatMul>(find(operators, "blk.0.attn_qkv.1").body);
  EXPECT_EQ(second.y.offset_bytes, 96u * 4u);
  EXPECT_EQ(second.y_stride, 128);
  EXPECT_EQ(second.row_end, 32);
}

// A factor comes between a product and its bias, and changes the columns of its matrix alone.
TEST(Decoder, multiplies_results_by_the_factors_of_their_matrices) {
  Model model = two_layers();
  model.config.qkv_bias = true;
  model.weights.layers[0].qkv.factors = {{0, 96, 0.75f}, {96, 32, 2.0f}};
  sync::Pool pool;
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
  const auto operators = build_decoder(model, buffers, {8, 1}, {});
  EXPECT_THAT(names(operators, "blk.0.attn_qkv"), ElementsAre("", ".factor", ".factor", ".bias"));
  EXPECT_THAT(names(operators, "blk.1.attn_qkv"), ElementsAre("", ".bias"));
  const auto first = std::ranges::find(operators, "blk.0.attn_qkv.factor", &Operator::name);
  const Scale &wide = std::get<Scale>(first->body), &narrow = std::get<Scale>((first + 1)->body);
  EXPECT_EQ(wide.factor, 0.75f);
  EXPECT_EQ(wide.width, 96);
  EXPECT_EQ(wide.x_stride, 128);
  EXPECT_EQ(wide.S, 8);
  EXPECT_EQ(narrow.factor, 2.0f);
  EXPECT_EQ(narrow.x.offset_bytes, 96u * 4u);
}

TEST(Activations, are_one_set_for_all_layers_and_return_to_the_pool) {
  const Model model = two_layers();
  sync::Pool pool;
  size_t mapped = 0;
  for (int round = 0; round < 2; ++round) {
    const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
    std::set<const sync::Slot*> written;
    for (const Operator& op : build_decoder(model, buffers, {8, 1}, {})) {
      for (const Region& region : writes(op)) {
        const sync::SlotUse use = region.at.slot->use();
        if (use == sync::SlotUse::activations || use == sync::SlotUse::intermediates) written.insert(region.at.slot);
      }
    }
    EXPECT_EQ(written.size(), 8u) << "hidden, normed, qkv, attended, projected, gate_up, activated, logits";
    if (round == 1) {
      EXPECT_EQ(pool.mapped_bytes(), mapped) << "slots are reused";
    }
    mapped = pool.mapped_bytes();
  }
}

TEST(Activations, give_keys_and_values_of_every_layer_a_place_of_their_own) {
  const Model model = two_layers();
  sync::Pool pool;
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
  std::set<const sync::Slot*> slots;
  for (const KvCache& cache : buffers.caches) {
    slots.insert({cache.k.slot, cache.v.slot});
    EXPECT_GE(cache.k.slot->size_bytes(), cache.k_bytes());
    EXPECT_GE(cache.v.slot->size_bytes(), cache.v_bytes());
  }
  EXPECT_EQ(slots.size(), 4u);
}

TEST(Activations, number_the_tokens_of_a_pass_from_its_first_position) {
  const Model model = two_layers();
  sync::Pool pool;
  const Activations buffers(model.config, {8, 8, 64, 64, KvType::f16}, &pool);
  write_positions(buffers, 0, 2);
  EXPECT_THAT(std::span(buffers.positions.as<int32_t>(), 2), ElementsAre(0, 1));
  write_positions(buffers, 7, 3);
  EXPECT_THAT(std::span(buffers.positions.as<int32_t>(), 3), ElementsAre(7, 8, 9));
}

TEST(Activations, say_where_the_runs_of_a_pass_begin_and_have_their_pages) {
  const Model model = two_layers();
  sync::Pool pool;
  ActivationSizes sizes{8, 8, 512, 512, KvType::f16};
  sizes.segments = 4, sizes.pages = 9;
  const Activations buffers(model.config, sizes, &pool);
  EXPECT_EQ(buffers.caches[0].pages, 9);
  const std::vector<int32_t> first{5}, second{7, 3};
  write_runs(buffers, std::vector<TokenRun>{{2, 10, first}, {3, 255, second}}, 4);
  EXPECT_THAT(std::span(buffers.positions.as<int32_t>(), 5), ElementsAre(10, 11, 255, 256, 257));
  EXPECT_THAT(std::span(buffers.segments.begins.as<int32_t>(), 5), ElementsAre(0, 2, 5, 5, 5));
  const auto* pages = buffers.segments.pages.as<int32_t>();
  EXPECT_EQ(pages[0], 5);
  EXPECT_THAT(std::span(pages + 2, 2), ElementsAre(7, 3));
  EXPECT_THROW(write_runs(buffers, std::vector<TokenRun>{{2, 255, first}}, 4), Error) << "its second page is missing";
  EXPECT_THROW(write_runs(buffers, std::vector<TokenRun>{{9, 0, first}}, 1), Error) << "too many tokens";
  write_positions(buffers, 3, 2);
  EXPECT_THAT(std::span(pages, 2), ElementsAre(0, 1)) << "one sequence has the first pages";
}

// One text has two tokens. A tree follows another text of 255 tokens. Two of its tokens run: the second of two roots
// and its child, at places 256 and 258.
TEST(Activations, say_where_the_ancestors_of_a_trees_token_lie) {
  const Model model = two_layers();
  sync::Pool pool;
  ActivationSizes sizes{8, 8, 512, 512, KvType::f16};
  sizes.segments = 4, sizes.pages = 9, sizes.tree_depth = 3;
  const Activations buffers(model.config, sizes, &pool);
  const std::vector<int32_t> first{5}, second{7, 3};
  write_runs(buffers, std::vector<TokenRun>{{2, 10, first}, {1, 255, second, {256}}, {1, 256, second, {256, 258}}}, 4);
  EXPECT_THAT(std::span(buffers.positions.as<int32_t>(), 4), ElementsAre(10, 11, 255, 256));
  const auto* paths = buffers.segments.paths.as<int32_t>();
  EXPECT_EQ(paths[0], kNoTree);
  EXPECT_THAT(std::span(paths + 4, 2), ElementsAre(255, 256));
  EXPECT_THAT(std::span(paths + 8, 3), ElementsAre(255, 256, 258));
  EXPECT_THROW(write_runs(buffers, std::vector<TokenRun>{{1, 10, first, {257}}}, 1), Error) << "its page is missing";
  EXPECT_THROW(write_runs(buffers, std::vector<TokenRun>{{1, 13, first, {10, 11, 12, 13}}}, 1), Error) << "too deep";
  EXPECT_THROW(write_runs(buffers, std::vector<TokenRun>{{2, 10, first, {10}}}, 1), Error) << "a path is of one token";
  EXPECT_EQ(buffers.segments_of(2, true).depth, 3);
  EXPECT_EQ(buffers.segments_of(2, false).depth, 0);
  EXPECT_FALSE(buffers.segments_of(2, false).paths);
}

TEST(Decoder, refuses_more_tokens_than_its_buffers_hold) {
  const Model model = two_layers();
  const Activations buffers(model.config, {8, 1, 64, 64, KvType::f16}, nullptr);
  EXPECT_THROW(build_decoder(model, buffers, {9, 1}, {}), Error);
  EXPECT_THROW(build_decoder(model, buffers, {8, 2}, {}), Error);
  EXPECT_THROW(build_decoder(model, buffers, {0, 0}, {}), Error);
  EXPECT_THROW(build_decoder(model, buffers, {2, 1, 2}, {}), Error) << "segments";
}

}  // namespace
}  // namespace tandem
