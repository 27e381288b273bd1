// Norms of heads, rotation and the append to the cache in one launch.
#include <cmath>

#include "engine/device/gpu/fused.h"
#include "tests/engine/device/gpu/fused_bench.h"

namespace tandem::testing {
namespace {

// What models differ in.
struct Form {
  int64_t query_heads = 3, rot_dim = 0;  // 0: the largest that the heads have
  RopeLayout layout = RopeLayout::halves;
  bool norms = false;
};

// The cosines and sines of `positions` positions.
std::vector<float> table_of(int64_t positions, int64_t rot_dim) {
  std::vector<float> table;
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t j = 0; j < rot_dim / 2; ++j) {
      const double angle =
          static_cast<double>(p) * std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(rot_dim));
      table.push_back(static_cast<float>(std::cos(angle)));
      table.push_back(static_cast<float>(std::sin(angle)));
    }
  return table;
}

RmsNorm norm_of(const Rope& rope, const Operand& x, int64_t heads, const Operand& weight) {
  RmsNorm norm;
  norm.S = rope.S, norm.groups = heads, norm.width = rope.head_dim;
  norm.x = norm.y = x, norm.x_stride = norm.y_stride = rope.x_stride;
  norm.weight = weight, norm.weight_offset = 0.25F, norm.eps = 1e-6F;
  return norm;
}

// The append of a case, with the heads of queries and keys and the values side by side in each row.
struct Layer {
  Layer(CaseMemory& memory, const OpCase& of, const Form& form) {
    append = std::get<KvAppend>(of.build(memory).op.body);
    std::mt19937 random(static_cast<uint32_t>(append.S + form.rot_dim));
    const KvCache& cache = append.cache;
    rope.S = append.S, rope.heads = form.query_heads + cache.kv_heads, rope.head_dim = cache.head_dim;
    rope.rot_dim = form.rot_dim > 0 ? form.rot_dim : cache.head_dim / 2 * 2;
    rope.layout = form.layout;
    const int64_t qk_width = rope.heads * cache.head_dim, width = qk_width + cache.kv_heads * cache.head_dim_v;
    rope.x_stride = append.k_stride = append.v_stride = width + 5;
    rope.x = memory.matrix(random_floats(random, append.S * width, 2.0F), width, rope.x_stride, "qkv");
    keys = append.k = rope.x.advanced(bytes_of_floats(form.query_heads * cache.head_dim));
    append.v = rope.x.advanced(bytes_of_floats(qk_width));
    rope.positions = append.positions;
    rope.table_positions = cache.capacity;
    rope.table = memory.floats(table_of(cache.capacity, rope.rot_dim), "table");
    q_norm = norm_of(rope, rope.x, form.query_heads, memory.floats(random_floats(random, rope.head_dim, 1.5F), "q"));
    k_norm = norm_of(rope, keys, cache.kv_heads, memory.floats(random_floats(random, rope.head_dim, 1.5F), "k"));
    k_norm.eps = 1e-3F, k_norm.weight_offset = 1;
  }
  std::vector<Operator> with_norms() const {
    return {{"q_norm", q_norm}, {"k_norm", k_norm}, {"rope", rope}, {"append", append}};
  }
  std::vector<Operator> without_norms() const { return {{"rope", rope}, {"append", append}}; }

  RmsNorm q_norm, k_norm;
  Rope rope;
  KvAppend append;
  Operand keys;
};

// The appends of few tokens: both types of caches, many sequences, trees, odd sizes of heads.
std::vector<OpCase> appends_of_few_tokens() {
  std::vector<OpCase> few;
  for (OpCase& each : kv_append_cases()) {
    sync::Pool pool;
    CaseMemory memory(pool);
    if (tokens_of(each.build(memory).op) <= kSmallBatch) few.push_back(std::move(each));
  }
  return few;
}

class FusedRopeAppend : public FusedBench {};

TEST_P(FusedRopeAppend, leaves_the_bytes_of_its_operators) {
  int64_t cases = 0;
  for (const OpCase& append : appends_of_few_tokens())
    for (const bool norms : {false, true}) {
      SCOPED_TRACE(append.name + (norms ? " with norms" : ""));
      const Form form{.layout = ++cases % 4 < 2 ? RopeLayout::halves : RopeLayout::interleaved, .norms = norms};
      const auto build = [&](CaseMemory& memory) {
        const Layer layer(memory, append, form);
        return norms ? layer.with_norms() : layer.without_norms();
      };
      expect_fused(build, 1);
    }
  EXPECT_GT(cases, 10);
}

TEST_P(FusedRopeAppend, leaves_the_values_of_a_head_that_are_not_rotated) {
  for (const bool norms : {false, true})
    expect_fused(
        [&](CaseMemory& memory) {
          const Layer layer(memory, appends_of_few_tokens().front(), {.query_heads = 5, .rot_dim = 20});
          return norms ? layer.with_norms() : layer.without_norms();
        },
        1);
}

// Each change makes a program that the fused kernel does not compute.
TEST(FusedRopeAppendLowering, does_not_happen_where_an_operator_differs) {
  using Change = std::function<void(Layer&)>;
  const std::vector<std::pair<std::string, Change>> changes{
      {"values of the rotated heads", [](Layer& layer) { layer.append.v = layer.keys; }},
      {"keys from elsewhere", [](Layer& layer) { layer.append.k = layer.rope.x; }},
      {"a rounded norm", [](Layer& layer) { layer.q_norm.round_f16 = true; }},
      {"a centred norm", [](Layer& layer) { layer.k_norm.centred = true; }},
      {"a norm of half the heads", [](Layer& layer) { --layer.q_norm.groups; }},
      {"other positions", [](Layer& layer) { layer.rope.positions = layer.rope.positions.advanced(sizeof(int32_t)); }},
      {"rotated queries alone", [](Layer& layer) { layer.rope.heads -= layer.append.cache.kv_heads; }}};
  sync::Pool pool;
  CaseMemory memory(pool);
  const auto launches = [&](const Change& change, KernelFamily family) {
    Layer layer(memory, appends_of_few_tokens().front(), {});
    change(layer);
    size_t count = 0;
    for (const gpu::LoweredRun& run : gpu::lower_program(layer.with_norms(), {.family = family}))
      count += run.launches.size();
    return count;
  };
  EXPECT_EQ(launches([](Layer&) {}, KernelFamily::simt), 1U);
  EXPECT_EQ(launches([](Layer&) {}, KernelFamily::simd), 4U);
  for (const auto& [what, change] : changes) EXPECT_GT(launches(change, KernelFamily::simt), 1U) << what;
}

INSTANTIATE_TEST_SUITE_P(On, FusedRopeAppend, ::testing::ValuesIn(simt_targets()), name_of_target);

}  // namespace
}  // namespace tandem::testing
