// Rows and the 8-bit codes that a product makes of them, in one launch.
#include "engine/device/gpu/fused.h"
#include "tests/engine/device/gpu/fused_bench.h"

namespace tandem::testing {
namespace {

constexpr int64_t kCodedRows = 70;

// A product with 8-bit activations of these rows.
MatMul product_of(CaseMemory& memory, const Operand& x, int64_t S, int64_t K, int64_t stride) {
  MatMul op;
  op.S = S, op.K = K, op.row_end = kCodedRows, op.act_i8 = true;
  op.w = random_weights(memory, StorageType::q4_0, kCodedRows, K, static_cast<uint32_t>(K));
  op.x = x, op.x_stride = stride;
  op.y_stride = kCodedRows + 1;
  op.y = memory.empty_matrix(S, kCodedRows, op.y_stride, "product");
  return op;
}

struct NormForm {
  int64_t S, width;
  bool adds, round_f16, layer_norm;
};

std::vector<Operator> norm_and_product(CaseMemory& memory, const NormForm& form) {
  const auto [S, width, adds, round_f16, layer_norm] = form;
  std::mt19937 random(static_cast<uint32_t>(width));
  RmsNorm norm;
  norm.S = S, norm.width = width, norm.eps = 1e-5F, norm.round_f16 = round_f16;
  norm.x_stride = width + 4, norm.y_stride = width + 8, norm.add_stride = width + 12;
  norm.x = memory.matrix(random_floats(random, S * width, 2.0F), width, norm.x_stride, "x");
  norm.y = memory.empty_matrix(S, width, norm.y_stride, "y");
  norm.weight = memory.floats(random_floats(random, width, 1.0F), "weight");
  if (adds) norm.add = memory.matrix(random_floats(random, S * width, 1.0F), width, norm.add_stride, "add");
  norm.centred = norm.biased = layer_norm;
  norm.bias = norm.biased ? memory.floats(random_floats(random, width, 1.0F), "bias") : Operand{};
  return {{"norm", norm}, {"product", product_of(memory, norm.y, S, width, norm.y_stride)}};
}

class FusedCodes : public FusedBench {};

// Widths of a part of a tile of 2,048 columns, of a whole one, and of some.
TEST_P(FusedCodes, are_made_by_the_norm_before_the_product) {
  for (const NormForm& form : {NormForm{1, 96, false, false, false}, NormForm{3, 2048, true, false, false},
                               NormForm{4, 4384, true, true, false}, NormForm{8, 2080, true, false, true}}) {
    SCOPED_TRACE(size_text("S", form.S) + size_text("width", form.width));
    expect_fused([&](CaseMemory& memory) { return norm_and_product(memory, form); }, 2);
  }
}

// A model's queries, keys and values may have weights of several types.
TEST_P(FusedCodes, serve_all_products_of_the_same_rows) {
  const auto build = [](CaseMemory& memory) {
    std::vector<Operator> operators = norm_and_product(memory, {2, 96, true, false, false});
    const MatMul first = std::get<MatMul>(operators.back().body);
    MatMul second = product_of(memory, first.x, first.S, first.K, first.x_stride);
    second.w = random_weights(memory, StorageType::q8_0, kCodedRows, first.K, 7);
    operators.push_back({"second", second});
    return operators;
  };
  expect_fused(build, 3);
}

// The attentions of few tokens with scratch, whose heads have whole groups of codes.
std::vector<OpCase> attentions() {
  std::vector<OpCase> few;
  for (OpCase& each : attention_cases()) {
    sync::Pool pool;
    CaseMemory memory(pool);
    const Operator op = each.build(memory).op;
    const auto& attention = std::get<Attention>(op.body);
    if (attention.S <= 4 && attention.cache.head_dim_v % 32 == 0 && attention.scratch) few.push_back(std::move(each));
  }
  return few;
}

// The attention is cut into its two steps, because a device with a single unit does not do so itself. Each case has
// kernels of its own to compile, so every third one is tested.
TEST_P(FusedCodes, are_made_by_the_merge_of_an_attention_before_the_product) {
  const std::vector<OpCase> cases = attentions();
  EXPECT_GT(cases.size(), 3U);
  for (size_t i = 0; i < cases.size(); i += 3) {
    SCOPED_TRACE(cases[i].name);
    const auto build = [&](CaseMemory& memory) {
      const auto attention = std::get<Attention>(cases[i].build(memory).op.body);
      const int64_t width = attention.heads * attention.cache.head_dim_v;
      return std::vector<Operator>{
          {"splits", slice_splits(attention, 0, kAttentionShares)},
          {"merge", merge_of(attention)},
          {"product", product_of(memory, attention.y, attention.S, width, attention.y_stride)}};
    };
    expect_fused(build, 3);
  }
}

// Each change makes a program whose product needs other codes.
TEST(FusedCodesLowering, are_not_made_where_the_product_reads_something_else) {
  sync::Pool pool;
  CaseMemory memory(pool);
  const auto launches = [&](const std::function<void(RmsNorm&, MatMul&)>& change, int64_t S = 1) {
    std::vector<Operator> operators = norm_and_product(memory, {S, 96, false, false, false});
    change(std::get<RmsNorm>(operators[0].body), std::get<MatMul>(operators[1].body));
    size_t count = 0;
    for (const gpu::LoweredRun& run : gpu::lower_program(operators, {.family = KernelFamily::simt}))
      count += run.launches.size();
    return count;
  };
  EXPECT_EQ(launches([](RmsNorm&, MatMul&) {}), 2U);
  EXPECT_EQ(launches([](RmsNorm&, MatMul&) {}, 9), 3U) << "many tokens";
  EXPECT_EQ(launches([](RmsNorm& norm, MatMul& product) { product.x = norm.x; }), 3U);
  EXPECT_EQ(launches([](RmsNorm&, MatMul& product) { ++product.x_stride; }), 3U);
  EXPECT_EQ(launches([](RmsNorm& norm, MatMul&) { norm.groups = 3, norm.width = 32; }), 3U);
  EXPECT_EQ(launches([](RmsNorm&, MatMul& product) { product.act_i8 = false; }), 2U) << "there are no codes";
}

INSTANTIATE_TEST_SUITE_P(On, FusedCodes, ::testing::ValuesIn(simt_targets()), name_of_target);

}  // namespace
}  // namespace tandem::testing
