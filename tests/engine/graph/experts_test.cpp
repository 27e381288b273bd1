// Mixtures of experts and latent attention as operators: their order, their places in memory, their cuts by tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/decoder.h"
#include "engine/model/shapes.h"
#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

// Eight experts, two for each token, and shared experts behind a gate.
ModelConfig mixture() {
  return parse_shape(R"({"schema": 1, "architecture": "qwen2moe", "layers": 2, "hidden": 64, "feed_forward": 96,
                         "heads": 4, "vocabulary": 512, "experts": 8, "experts_used": 2, "expert_feed_forward": 32,
                         "shared_feed_forward": 128})",
                     "test");
}

ModelConfig with_latents() {
  return parse_shape(R"({"schema": 1, "architecture": "deepseek2", "layers": 2, "hidden": 64, "feed_forward": 96,
                         "heads": 4, "vocabulary": 512, "experts": 8, "experts_used": 2, "expert_feed_forward": 32,
                         "shared_feed_forward": 64, "dense_layers": 1, "kv_lora_rank": 32, "nope_dim": 24,
                         "rope_dim": 16, "value_dim": 24})",
                     "test");
}

struct Built {
  explicit Built(const ModelConfig& config, const Batch& batch, const GraphOptions& options = {})
      : model(shape_only_model(config, packed_format(StorageType::q4_0))),
        buffers(model.config, {32, 32, 64, 64, KvType::f16}, &pool),
        operators(build_decoder(model, buffers, batch, options)) {}

  std::vector<std::string> names(const std::string& prefix) const {
    std::vector<std::string> list;
    for (const Operator& op : operators) {
      if (op.name.starts_with(prefix)) list.push_back(op.name.substr(prefix.size()));
    }
    return list;
  }
  template <typename Body>
  const Body& find(const std::string& name) const {
    for (const Operator& op : operators) {
      if (op.name == name) return std::get<Body>(op.body);
    }
    throw Error("no such operator", name);
  }

  sync::Pool pool;
  Model model;
  Activations buffers;
  std::vector<Operator> operators;
};

TEST(Experts, take_the_place_of_a_feed_forward_network) {
  const Built many(mixture(), {32, 1}), few(mixture(), {4, 1});
  EXPECT_THAT(many.names("blk.0.ffn_"),
              ElementsAre("norm", "gate_inp", "gate_up_shexp", "down_shexp", "gate_up_exps", "down_exps"));
  EXPECT_THAT(many.names("blk.0.expert_"), ElementsAre("lists", "sum"));
  EXPECT_THAT(few.names("blk.0.expert_"), ElementsAre("sum")) << "few tokens need no lists";
  EXPECT_FALSE(few.find<GroupedMatMul>("blk.0.ffn_down_exps").lists);
}

// Factors of experts come between products and biases, and change the columns of their matrices alone.
TEST(Experts, are_multiplied_by_their_factors_before_biases_are_added) {
  sync::Pool pool;
  Model model = shape_only_model(mixture(), packed_format(StorageType::nvfp4));
  model.config.experts->biases = true;
  const sync::Slot& slot = pool.acquire(64, sync::SlotUse::weights, "factors");
  LayerWeights& layer = model.weights.layers[0];
  layer.expert_gate_up.factors = {{32, 32, {&slot, 0}}};
  layer.expert_down.factors = {{0, 64, {&slot, 32}}};
  const Activations buffers(model.config, {32, 32, 64, 64, KvType::f16}, &pool);
  const auto operators = build_decoder(model, buffers, {32, 1}, {});
  std::vector<std::string> names;
  for (const Operator& op : operators)
    if (op.name.starts_with("blk.0.") && op.name.find("_exps") != std::string::npos) names.push_back(op.name.substr(6));
  EXPECT_THAT(names,
              ElementsAre("ffn_gate_up_exps", "ffn_gate_up_exps.factor", "ffn_gate_exps.bias", "ffn_up_exps.bias",
                          "swiglu_exps", "ffn_down_exps", "ffn_down_exps.factor", "ffn_down_exps.bias"));
  const auto found = [&](const char* name) {
    return std::get<Scale>(std::ranges::find(operators, name, &Operator::name)->body);
  };
  const Scale up = found("blk.0.ffn_gate_up_exps.factor"), down = found("blk.0.ffn_down_exps.factor");
  EXPECT_EQ(up.S, 32);
  EXPECT_EQ(up.rows, 2);
  EXPECT_EQ(up.width, 32);
  EXPECT_EQ(up.x_stride, 2 * 32);
  EXPECT_EQ(up.x, buffers.expert_gate_up.advanced(32 * sizeof(float)));
  EXPECT_EQ(up.factors, (Operand{&slot, 0}));
  EXPECT_EQ(up.ids, buffers.routing[0].ids);
  EXPECT_FALSE(up.places);
  EXPECT_EQ(down.width, 64);
  EXPECT_EQ(down.x, buffers.expert_found);
  EXPECT_EQ(down.experts, 8);
}

TEST(Experts, have_a_row_for_each_choice_until_they_are_added_up) {
  const Built built(mixture(), {32, 32});
  const Route& route = built.find<Route>("blk.1.route");
  EXPECT_EQ(route.E, 8);
  EXPECT_EQ(route.k, 2);
  EXPECT_EQ(route.x_stride, 9) << "eight scores, and the shared experts' gate";
  EXPECT_EQ(route.ids, built.buffers.routing[1].ids);
  const GroupedMatMul& up = built.find<GroupedMatMul>("blk.1.ffn_gate_up_exps");
  EXPECT_EQ(up.slots, 2);
  EXPECT_EQ(up.x_slot, 0) << "both experts read the token's one row";
  EXPECT_EQ(up.y_stride, 2 * 2 * 32);
  EXPECT_EQ(up.y_slot, 2 * 32);
  EXPECT_EQ(up.ids, route.ids);
  const Glu& glu = built.find<Glu>("blk.1.swiglu_exps");
  EXPECT_EQ(glu.rows, 2);
  EXPECT_EQ(tokens_of({"", glu}), 32) << "a batch is cut by tokens, not by rows";
  const GroupedMatMul& down = built.find<GroupedMatMul>("blk.1.ffn_down_exps");
  EXPECT_EQ(down.x, glu.y);
  EXPECT_EQ(down.x_slot, 32);
  EXPECT_EQ(down.y_slot, 64);
  const ExpertSum& sum = built.find<ExpertSum>("blk.1.expert_sum");
  EXPECT_EQ(sum.x, down.y);
  EXPECT_EQ(sum.weights, route.weights);
  EXPECT_EQ(sum.shared, built.find<MatMul>("blk.1.ffn_down_shexp").y);
  EXPECT_EQ(sum.gate.offset_bytes, route.x.offset_bytes + 8 * sizeof(float));
  EXPECT_EQ(sum.y, built.buffers.projected);
}

TEST(Experts, are_chosen_by_weights_that_nothing_rounds) {
  const Built built(mixture(), {32, 32});
  int64_t routers = 0;
  for (Operator op : built.operators) {
    auto* matmul = std::get_if<MatMul>(&op.body);
    if (matmul == nullptr) continue;
    matmul->w.format = packed_format(StorageType::f32);
    const bool is_router = op.name.ends_with("ffn_gate_inp");
    routers += is_router;
    EXPECT_EQ(features_of(op).has(Feature::unrounded_weights), is_router) << op.name;
    matmul->w.format = packed_format(StorageType::q8_0);
    EXPECT_FALSE(features_of(op).has(Feature::unrounded_weights)) << "these are exact in f16";
  }
  EXPECT_EQ(routers, 2);
}

// Plans that cut by tokens slice all operators like this. No two slices may write to the same place.
TEST(Experts, are_cut_by_tokens_into_parts_that_share_nothing) {
  for (const ModelConfig& config : {mixture(), with_latents()}) {
    const Built built(config, {32, 32});
    for (const Operator& op : built.operators) {
      const Operator first = slice_tokens(op, 0, 20), second = slice_tokens(op, 20, 32);
      if (std::holds_alternative<KvAppend>(op.body)) continue;  // the positions say where it writes
      for (const Region& a : writes(first)) {
        for (const Region& b : writes(second)) EXPECT_FALSE(overlaps(a, b)) << op.name;
      }
    }
  }
}

// Plans share experts between two devices like this. Each part reads some rows of every expert and writes
// their results.
TEST(Experts, are_cut_by_rows_into_parts_that_write_what_the_whole_writes) {
  for (const char* name : {"blk.0.ffn_gate_up_exps", "blk.0.ffn_down_exps"}) {
    const Built built(mixture(), {32, 32});
    GroupedMatMul whole = built.find<GroupedMatMul>(name);
    whole.w.rows = 100;  // two panels, and the second has 36 rows
    whole.y_slot = 100, whole.y_stride = 200;
    const GroupedMatMul first = slice_rows(whole, 0, 64), second = slice_rows(whole, 64, 100);
    EXPECT_EQ(first.w.matrix_bytes(), whole.w.matrix_bytes());
    EXPECT_EQ(first.w.bytes() + packed_bytes(whole.w.format, 64, whole.w.columns), whole.w.bytes());
    EXPECT_EQ(second.y.offset_bytes, whole.y.offset_bytes + 64 * sizeof(float));
    const Operator a{"", first}, b{"", second}, all{"", whole};
    ASSERT_EQ(writes(a).size(), 1u);
    EXPECT_FALSE(overlaps(writes(a)[0], writes(b)[0]));
    EXPECT_TRUE(covers(writes(all)[0], writes(a)[0]));
    EXPECT_TRUE(covers(writes(all)[0], writes(b)[0]));
    EXPECT_DOUBLE_EQ(work(a).flops + work(b).flops, work(all).flops);
    EXPECT_DOUBLE_EQ(work(a).weight_bytes + work(b).weight_bytes, work(all).weight_bytes);
    EXPECT_EQ(slice_rows(slice_rows(whole, 0, 100), 64, 100), second) << "a slice of a slice";
    EXPECT_THROW(slice_rows(whole, 32, 100), Error);
    EXPECT_THROW(slice_rows(whole, 64, 80), Error);
    EXPECT_THROW(slice_rows(whole, 0, 128), Error);
  }
}

TEST(Experts, read_what_a_token_s_choices_need) {
  Built built(mixture(), {1, 1});
  GroupedMatMul op = built.find<GroupedMatMul>("blk.0.ffn_down_exps");
  const double each = static_cast<double>(op.w.matrix_bytes());
  EXPECT_DOUBLE_EQ(work({"", op}).weight_bytes, 2 * each) << "two of eight";
  op.S = 2;  // 8 * (1 - (3/4)^2) = 3.5
  EXPECT_DOUBLE_EQ(work({"", op}).weight_bytes, 3.5 * each);
  EXPECT_DOUBLE_EQ(work({"", op}).flops, 2.0 * 2 * 2 * 64 * 32);
  op.routed = false;
  EXPECT_DOUBLE_EQ(work({"", op}).weight_bytes, 8 * each);
}

TEST(Latents, are_what_the_cache_keeps) {
  const Built built(with_latents(), {32, 32});
  EXPECT_THAT(built.names("blk.0."), ElementsAre("attn_norm", "attn_qkv", "attn_kv_a_norm", "rope_q", "rope_k",
                                                 "kv_append", "attn_k_b", "attn_q_pe", "attention", "attn_v_b",
                                                 "attn_output", "ffn_norm", "ffn_gate_up", "swiglu", "ffn_down"));
  const KvAppend& append = built.find<KvAppend>("blk.0.kv_append");
  EXPECT_EQ(append.cache.kv_heads, 1);
  EXPECT_EQ(append.cache.head_dim, 32 + 16);
  EXPECT_EQ(append.cache.head_dim_v, 32);
  EXPECT_EQ(append.k.offset_bytes, 4u * (24 + 16) * sizeof(float)) << "behind the queries of four heads";
  EXPECT_EQ(append.v, append.k) << "the latent is the key's first part, and the value";
  const Rope& key = built.find<Rope>("blk.0.rope_k");
  EXPECT_EQ(key.x.offset_bytes, append.k.offset_bytes + 32 * sizeof(float));
  const Copy& turned = built.find<Copy>("blk.0.attn_q_pe");
  EXPECT_EQ(turned.y.offset_bytes, 32 * sizeof(float));
  EXPECT_EQ(turned.y_group, 48);
  EXPECT_EQ(built.find<GroupedMatMul>("blk.0.attn_v_b").y_slot, 24);
}

TEST(Latents, become_values_that_are_rounded_where_inputs_are) {
  EXPECT_THAT(Built(with_latents(), {8, 8}, {.round_f16 = true}).names("blk.0.attn_v_"), ElementsAre("b", "f16"));
  EXPECT_THAT(Built(with_latents(), {8, 8}).names("blk.0.attn_v_"), ElementsAre("b"));
}

}  // namespace
}  // namespace tandem
