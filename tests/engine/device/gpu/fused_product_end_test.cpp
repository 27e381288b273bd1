// Products with what follows them, in one launch. The tests run on cards alone, because only there weights are in
// pieces of rows.
#include "engine/device/gpu/fused.h"
#include "tests/engine/device/gpu/fused_bench.h"

namespace tandem::testing {
namespace {

// A product, and operators that may follow it.
struct Product {
  Product(CaseMemory& memory, StorageType type, int64_t S, int64_t rows, int64_t K, bool act_i8) {
    std::mt19937 random(static_cast<uint32_t>(S + rows));
    matmul.S = S, matmul.K = K, matmul.row_end = rows, matmul.act_i8 = act_i8;
    matmul.w = random_weights(memory, type, rows, K, static_cast<uint32_t>(rows));
    matmul.x_stride = K + 4, matmul.y_stride = rows + 3;
    matmul.x = memory.matrix(random_floats(random, S * K, 2.0F), K, matmul.x_stride, "x");
    matmul.y = memory.empty_matrix(S, rows, matmul.y_stride, "y");
    bias.S = S, bias.width = rows, bias.x = matmul.y, bias.x_stride = matmul.y_stride;
    bias.bias = memory.floats(random_floats(random, rows, 1.0F), "bias");
    add.S = S, add.width = rows, add.x_stride = rows + 7;
    add.x = memory.matrix(random_floats(random, S * rows, 3.0F), rows, add.x_stride, "sum");
    add.y = matmul.y, add.y_stride = matmul.y_stride;
  }

  MatMul matmul;
  Bias bias;
  Add add;
};

constexpr int64_t kRows = 131, kColumns = 1280;  // the last panel is not full, and runs have different lengths

class FusedProductEnd : public FusedBench {
 protected:
  // operators(product): the program.
  template <typename Operators>
  void expect_fused_product(StorageType type, int64_t S, bool act_i8, const Operators& operators) {
    SCOPED_TRACE(std::string(info(type).name) + size_text("S", S) + (act_i8 ? " i8" : ""));
    const auto build = [&](CaseMemory& memory) { return operators(Product(memory, type, S, kRows, kColumns, act_i8)); };
    expect_fused(build, act_i8 ? 2 : 1);
  }

  // Products of every kind of weights and of few tokens.
  template <typename Operators>
  void expect_fused_products(const Operators& operators) {
    for (const StorageType type : {StorageType::q4_1, StorageType::q6_k, StorageType::f16})
      for (const bool act_i8 : {false, true}) {
        if (act_i8 && packed_format(type).dense()) continue;
        // With 8-bit activations the kernels of few tokens are those of four.
        for (const int64_t S : {1, 3, act_i8 ? 4 : 8}) expect_fused_product(type, S, act_i8, operators);
      }
  }
};

TEST_P(FusedProductEnd, adds_a_bias_or_adds_to_the_residual_stream) {
  for (const bool act_i8 : {false, true}) {
    expect_fused_product(StorageType::q4_1, 2, act_i8, [](const Product& of) {
      return std::vector<Operator>{{"product", of.matmul}, {"bias", of.bias}};
    });
    expect_fused_product(StorageType::q4_1, 2, act_i8, [](const Product& of) {
      return std::vector<Operator>{{"product", of.matmul}, {"add", of.add}};
    });
  }
}

TEST_P(FusedProductEnd, adds_a_bias_first) {
  expect_fused_products([](const Product& of) {
    return std::vector<Operator>{{"product", of.matmul}, {"bias", of.bias}, {"add", of.add}};
  });
}

// Widths that fill groups of gates but not panels: the gates end within a panel.
constexpr int64_t kUnits = 92;

std::vector<Operator> with_unit(CaseMemory& memory, const MatMul& product, Activation activation, bool gated,
                                bool round_f16) {
  Glu unit;
  unit.S = product.S, unit.I = product.row_end / (gated ? 2 : 1), unit.activation = activation, unit.gated = gated,
  unit.round_f16 = round_f16;
  unit.gate = product.y, unit.up = product.y.advanced(bytes_of_floats(unit.I));
  unit.gate_stride = unit.up_stride = product.y_stride;
  unit.y_stride = unit.I + 6;
  unit.y = memory.empty_matrix(product.S, unit.I, unit.y_stride, "unit");
  return {{"product", product}, {"unit", unit}};
}

TEST_P(FusedProductEnd, computes_units_of_gates_and_ups) {
  for (const StorageType type : {StorageType::q4_0, StorageType::q8_0, StorageType::bf16})
    for (const bool act_i8 : {false, true}) {
      if (act_i8 && packed_format(type).dense()) continue;
      const int64_t S = act_i8 ? 1 : 4;
      SCOPED_TRACE(std::string(info(type).name) + (act_i8 ? " i8" : ""));
      const auto build = [&](CaseMemory& memory) {
        const Product of(memory, type, S, 2 * kUnits, kColumns, act_i8);
        return with_unit(memory, of.matmul, Activation::silu, true, type == StorageType::q8_0);
      };
      expect_fused(build, act_i8 ? 2 : 1);
    }
}

TEST_P(FusedProductEnd, computes_units_of_every_kind) {
  for (const auto& [activation, gated] :
       {std::pair{Activation::gelu_tanh, true}, {Activation::clamped_silu, true}, {Activation::squared_relu, false}}) {
    SCOPED_TRACE(std::string(name_of(activation)));
    const auto build = [&](CaseMemory& memory) {
      const Product of(memory, StorageType::q4_0, 2, gated ? 2 * kUnits : kUnits, kColumns, false);
      return with_unit(memory, of.matmul, activation, gated, false);
    };
    expect_fused(build, 1);
  }
}

// Each change makes a program that the product's kernel does not compute.
TEST(FusedProductEndLowering, does_not_happen_where_an_operator_differs) {
  sync::Pool pool;
  CaseMemory memory(pool);
  gpu::LoweringContext context{.family = KernelFamily::simt};
  context.has_row_pieces = [](const sync::Slot*) { return true; };
  const auto launches = [&](const std::function<void(Product&)>& change, int64_t S = 1) {
    Product of(memory, StorageType::q4_1, S, kRows, kColumns, false);
    change(of);
    const std::vector<Operator> operators{{"product", of.matmul}, {"bias", of.bias}, {"add", of.add}};
    size_t count = 0;
    for (const gpu::LoweredRun& run : gpu::lower_program(operators, context)) count += run.launches.size();
    return count;
  };
  const auto nothing = [](Product&) {};
  EXPECT_EQ(launches(nothing), 1U);
  EXPECT_EQ(launches(nothing, 9), 3U) << "many tokens";
  EXPECT_EQ(launches([](Product& of) { of.bias.x = of.add.x; }), 3U);
  EXPECT_EQ(launches([](Product& of) { of.bias.chosen = true, of.bias.ids = of.bias.bias; }), 3U);
  EXPECT_EQ(launches([](Product& of) { of.matmul.row_begin = 64; }), 3U) << "a part of the rows";
  EXPECT_EQ(launches([](Product& of) { --of.add.width; }), 2U);
  EXPECT_EQ(launches([](Product& of) { of.add.x = of.matmul.x; }), 2U) << "others still read it";
  const auto launches_with_unit = [&](const std::function<void(Glu&)>& change, int64_t units = kUnits) {
    const Product of(memory, StorageType::q4_1, 1, 2 * units, kColumns, false);
    std::vector<Operator> operators = with_unit(memory, of.matmul, Activation::silu, true, false);
    change(std::get<Glu>(operators.back().body));
    size_t count = 0;
    for (const gpu::LoweredRun& run : gpu::lower_program(operators, context)) count += run.launches.size();
    return count;
  };
  EXPECT_EQ(launches_with_unit([](Glu&) {}), 1U);
  EXPECT_EQ(launches_with_unit([](Glu& unit) { --unit.I; }), 2U);
  EXPECT_EQ(launches_with_unit([](Glu&) {}, 90), 2U) << "the last group has gates and ups of other rows";
  EXPECT_EQ(launches_with_unit([](Glu& unit) { std::swap(unit.gate, unit.up); }), 2U);
  EXPECT_EQ(launches_with_unit([](Glu& unit) { unit.y = unit.gate, unit.y_stride = unit.gate_stride; }), 2U);
  context.has_row_pieces = nullptr;
  EXPECT_EQ(launches(nothing), 3U) << "weights in panels";
}

std::vector<Target> cards() {
  std::vector<Target> cards;
  for (const Target& target : simt_targets())
    if (target.force_copies) cards.push_back(target);
  return cards;
}
INSTANTIATE_TEST_SUITE_P(On, FusedProductEnd, ::testing::ValuesIn(cards()), name_of_target);

}  // namespace
}  // namespace tandem::testing
