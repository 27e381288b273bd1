// Both families of a GPU's kernels give equal bits for every operator. Products have the sums that the contract states,
// whatever number of columns, tokens and rows they have.
#include <algorithm>
#include <deque>
#include <span>
#include <utility>

#include "tests/engine/device/driver_faults.h"
#include "tests/engine/device/open_once.h"
#include "tests/engine/device/run_case.h"
#include "tests/engine/device/stated_product.h"
#include "tests/support/requirements.h"

namespace tandem::testing {
namespace {

constexpr const char* kFamilies[] = {"simd", "simt"};

// One device, opened once for each family.
class Families : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < 2; ++i) {
      const auto all = targets();
      const auto target = std::ranges::find(all, GetParam() + "_" + kFamilies[i], &Target::name);
      ASSERT_NE(target, all.end());
      if (const std::string reason = missing(*target); !reason.empty())
        SKIP_OR_FAIL(test::needs_of(target->id), reason);
      SKIP_WHERE_MISCOMPILED(target->id, target->family);
      bench_[i] = &test::kSharedByTests<Bench>->all[target->name];
      if (!bench_[i]->device) bench_[i]->device = open_target(*target, bench_[i]->messages);
    }
    fused_ = bench_[0]->device->info().fused_fma;
    EXPECT_EQ(fused_, bench_[1]->device->info().fused_fma);
  }
  void TearDown() override {
    release();
    for (Bench* bench : bench_)
      if (bench) bench->report_messages();
  }

  // The memory of a case on the device of a family.
  CaseMemory& memory_of(size_t family) {
    return memories_.emplace_back(family, CaseMemory(bench_[family]->pool)).second;
  }
  // Ends a case: some drivers take a limited number of imported slots.
  void release() {
    for (const auto& [family, memory] : memories_)
      for (sync::Slot* slot : memory.slots()) bench_[family]->pool.release(*slot);
    memories_.clear();
  }

  void expect_equal_bits(const std::vector<OpCase>& cases) {
    int compared = 0;
    for (const OpCase& op_case : cases) {
      SCOPED_TRACE(op_case.name);
      const BuiltCase simd = op_case.build(memory_of(0)), simt = op_case.build(memory_of(1));
      if (!bench_[0]->device->supports(simd.op).yes || !bench_[1]->device->supports(simt.op).yes) {
        release();
        continue;
      }
      bench_[0]->run({&simd.op, 1});
      bench_[1]->run({&simt.op, 1});
      EXPECT_TRUE(same_bits(simd, simt));
      release();
      ++compared;
    }
    EXPECT_GT(compared, 0);
  }

  Bench* bench_[2] = {};
  bool fused_ = false;

 private:
  std::deque<std::pair<size_t, CaseMemory>> memories_;
};

std::vector<OpCase> joined(std::initializer_list<std::vector<OpCase>> lists) {
  std::vector<OpCase> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

TEST_P(Families, have_equal_bits_in_sums_along_rows) { expect_equal_bits(joined({norm_cases(), softmax_cases()})); }
// Each case compiles kernels of its own in both families, so a third of them is compared.
TEST_P(Families, have_equal_bits_in_attention) {
  std::vector<OpCase> cases = attention_cases();
  for (const auto& [of_tree, of_texts] : attention_cases_of_trees()) cases.push_back(of_tree);
  std::vector<OpCase> some;
  for (size_t i = 0; i < cases.size(); i += 3) some.push_back(cases[i]);
  expect_equal_bits(some);
}
TEST_P(Families, have_equal_bits_in_everything_else) {
  expect_equal_bits(joined({embed_cases(), rope_cases(), kv_append_cases(), elementwise_cases(), selection_cases(),
                            routing_cases(), expert_cases()}));
}

// Numbers of columns with fewer tiles of 64 than runs, as many, and more; the last tile is rarely whole. 9, 18 and 28
// groups of 32 columns are widths of models.
std::vector<int64_t> columns_of(StorageType type) {
  const uint32_t block = info(type).block_values;
  if (block == 1) return {1, 63, 65, 129, 577, 1025, 1087, 2049};
  if (block == 32) return {32, 96, 9 * 32, 18 * 32, 28 * 32, 1024, 33 * 32, 65 * 32};
  return {256, 512, 768, 1024, 5 * 256, 9 * 256};
}

// Each of the first eight numbers of tokens has kernels of its own.
constexpr int64_t kTokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 33, 64, 65, 130};

constexpr int64_t kRows = 200;  // the last of four panels is not full

MatMul random_product(CaseMemory& memory, StorageType type, int64_t S, int64_t K, bool act_i8) {
  std::mt19937 random(static_cast<uint32_t>(S + K));
  MatMul op;
  op.S = S, op.K = op.x_stride = K, op.row_end = op.y_stride = kRows, op.act_i8 = act_i8;
  op.w = random_weights(memory, type, kRows, K, static_cast<uint32_t>(K));
  op.x = memory.matrix(random_floats(random, S * K, 2.0F), K, K, "x");
  op.y = memory.empty_matrix(S, kRows, kRows, "y");
  return op;
}

std::vector<float> results_of(const MatMul& op) { return {op.y.as<float>(), op.y.as<float>() + op.S * op.y_stride}; }

// The first difference, if there is one.
::testing::AssertionResult equal(const std::vector<float>& stated, const std::vector<float>& found) {
  for (size_t i = 0; i < stated.size(); ++i)
    if (std::memcmp(&stated[i], &found[i], sizeof(float)) != 0)
      return ::testing::AssertionFailure() << "element " << i << " is " << found[i] << ", stated " << stated[i];
  return ::testing::AssertionSuccess();
}

class ProductsOfFamilies : public Families {
 protected:
  // Compares a product on both families, whole and cut into slices of rows, with the stated sums.
  void expect_stated_sums(StorageType type, int64_t S, int64_t K, bool act_i8) {
    std::vector<float> stated;
    for (size_t family = 0; family < 2; ++family) {
      SCOPED_TRACE(kFamilies[family]);
      const MatMul op = random_product(memory_of(family), type, S, K, act_i8);
      if (stated.empty()) {
        run_stated_product(op, fused_ ? in_one_rounding : in_two_roundings);
        stated = results_of(op);
      }
      const Operator whole{"product", op};
      const Operator slices[] = {{"last rows", slice_rows(op, 2 * kPanelRows, kRows)},
                                 {"first rows", slice_rows(op, 0, 2 * kPanelRows)}};
      for (const std::span<const Operator> parts :
           {std::span<const Operator>(&whole, 1), std::span<const Operator>(slices)}) {
        std::fill_n(op.y.as<float>(), op.S * op.y_stride, -1.0F);
        bench_[family]->run(parts);
        EXPECT_TRUE(equal(stated, results_of(op))) << parts.size() << " parts";
      }
    }
    release();
  }

  void expect_stated_sums_of_formats(bool act_i8) {
    for (const StorageType type : kTypeOfEachFormat) {
      if (!is_typical(type) || (act_i8 && packed_format(type).dense())) continue;
      const std::vector<int64_t> columns = columns_of(type);
      for (size_t i = 0; i < std::size(kTokens); ++i) {
        // Few and many tokens have kernels of other forms, and both have the largest number of columns.
        const bool is_largest = kTokens[i] == 1 || kTokens[i] == 65;
        const int64_t S = kTokens[i], K = is_largest ? columns.back() : columns[i % columns.size()];
        SCOPED_TRACE(std::string(info(type).name) + size_text("S", S) + size_text("K", K));
        expect_stated_sums(type, S, K, act_i8);
        if (HasFailure()) return;
      }
      for (const int64_t K : columns) {
        SCOPED_TRACE(std::string(info(type).name) + size_text("K", K));
        expect_stated_sums(type, 1, K, act_i8);
        expect_stated_sums(type, 9, K, act_i8);
        if (HasFailure()) return;
      }
    }
  }
};

// The suite Bits compares products in every format with the stated sums.
TEST_P(ProductsOfFamilies, have_the_stated_sums_for_any_numbers_of_columns_and_tokens) {
  expect_stated_sums_of_formats(false);
}
TEST_P(ProductsOfFamilies, of_8_bit_activations_have_the_stated_sums_for_any_numbers_of_columns_and_tokens) {
  expect_stated_sums_of_formats(true);
}

// A stack's matrices are those of one tall matrix. So each slot has the results of a part of its rows.
TEST_P(ProductsOfFamilies, with_stacks_have_the_sums_of_each_matrix) {
  constexpr int64_t kSlots = 3, kRowsOfMatrix = 64;
  for (const StorageType type : {StorageType::q4_1, StorageType::q6_k, StorageType::f16})
    for (const bool act_i8 : {false, true}) {
      if (act_i8 && packed_format(type).dense()) continue;
      for (const int64_t K : columns_of(type))
        for (const int64_t S : {1, 3, 70}) {
          SCOPED_TRACE(std::string(info(type).name) + size_text("S", S) + size_text("K", K) + (act_i8 ? " i8" : ""));
          std::vector<float> stated;
          for (size_t family = 0; family < 2; ++family) {
            const MatMul tall = random_product(memory_of(family), type, S, K, act_i8);
            if (stated.empty()) {
              run_stated_product(tall, fused_ ? in_one_rounding : in_two_roundings);
              stated = results_of(tall);
              for (int64_t i = 0; i < S * kRows; ++i)
                if (i % kRows >= kSlots * kRowsOfMatrix) stated[static_cast<size_t>(i)] = -1;
            }
            GroupedMatMul grouped;
            grouped.S = S, grouped.slots = kSlots, grouped.routed = false, grouped.act_i8 = act_i8;
            grouped.w = {tall.w.format, kSlots, kRowsOfMatrix, K, tall.w.data};
            grouped.x = tall.x, grouped.x_stride = tall.x_stride;
            grouped.y = tall.y, grouped.y_stride = tall.y_stride, grouped.y_slot = kRowsOfMatrix;
            std::fill_n(tall.y.as<float>(), S * tall.y_stride, -1.0F);
            const Operator op{"products", grouped};
            bench_[family]->run({&op, 1});
            ASSERT_TRUE(equal(stated, results_of(tall))) << kFamilies[family];
          }
          release();
        }
    }
}

// The suite Bits compares OpenCL's families with the host, where multiply-adds are fused.
const auto kInterfaces = ::testing::Values("vulkan");
INSTANTIATE_TEST_SUITE_P(On, Families, kInterfaces, [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(On, ProductsOfFamilies, kInterfaces, [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tandem::testing
