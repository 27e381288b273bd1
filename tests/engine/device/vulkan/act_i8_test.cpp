// Products with 8-bit activations have the same bits one by one, four at once, and on matrix units.
#include "packed/act_i8.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "engine/device/vulkan/handle.h"
#include "engine/device/vulkan/self_test.h"
#include "engine/tensor/types.h"
#include "tests/engine/device/vulkan/vulkan_test.h"

namespace tandem::vulkan {
namespace {

class VulkanActI8 : public VulkanTest {
 protected:
  Operand filled(size_t bytes, sync::SlotUse use = sync::SlotUse::activations) {
    Operand at{&pool_.acquire(bytes, use, "operand"), 0};
    // With bit 6 of each byte cleared, all halves are finite and below 2, and all floats are small.
    for (size_t i = 0; i < bytes; ++i) at.as<uint8_t>()[i] = static_cast<uint8_t>(random_() & 0xbf);
    return at;
  }
  std::vector<float> product(MatMul op) { return result_of(op, static_cast<size_t>(op.S * op.row_end)); }
  template <typename Op>
  std::vector<float> result_of(Op op, size_t count) {
    op.y = {&pool_.acquire(count * sizeof(float), sync::SlotUse::activations, "y"), 0};
    const Operator whole{"product", op};
    const auto program = device_->prepare(std::span(&whole, 1));
    launch_one(*device_, *program, {}, {});
    device_->finish(kDeadline);
    return {op.y.template as<float>(), op.y.template as<float>() + count};
  }
  // A device with the kernels of graphics cards, and with copies of weights. units: nothing takes those that it proves.
  void open_card(std::optional<gpu::MatrixUnits> units) {
    DeviceOptions options;
    options.gpu_family = KernelFamily::simt;
    Tuning tuning;
    tuning.own_weights = true;
    tuning.matrix_units = units;
    device_ = open(options, tuning);
  }
  // Products of 5 and 65 tokens. Rows, tokens and columns end inside panels, tiles and stages.
  std::vector<std::vector<float>> products_of_many_tokens() {
    std::vector<std::vector<float>> results;
    random_.seed(7);
    for (const StorageType type : {StorageType::q4_0, StorageType::q8_0, StorageType::q4_k, StorageType::iq4_nl}) {
      MatMul op;
      op.K = op.x_stride = type == StorageType::q4_k ? 256 * 3 : 32 * 19;
      op.row_end = op.y_stride = 130, op.act_i8 = true;
      op.w = {packed_format(type), 130, op.K, {}};
      op.w.data = filled(op.w.bytes(), sync::SlotUse::weights);
      op.x = filled(static_cast<size_t>(65 * op.K) * sizeof(float));
      for (const int64_t S : {5, 65}) {
        op.S = S;
        results.push_back(product(op));
      }
    }
    return results;
  }
  // A stack of matrices, one for each slot of a token.
  std::vector<float> product_of_stack() {
    constexpr int64_t kTokens = 66, kSlots = 2, K = 160, kRows = 64;
    random_.seed(8);
    GroupedMatMul op;
    op.S = kTokens, op.slots = kSlots, op.routed = false, op.act_i8 = true;
    op.w = {packed_format(StorageType::q4_0), kSlots, kRows, K, {}};
    op.w.data = filled(op.w.bytes(), sync::SlotUse::weights);
    op.x = filled(static_cast<size_t>(kTokens * kSlots * K) * sizeof(float));
    op.x_slot = K, op.x_stride = kSlots * K, op.y_slot = kRows, op.y_stride = kSlots * kRows;
    return result_of(op, static_cast<size_t>(kTokens * kSlots * kRows));
  }
  static ::testing::AssertionResult same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    if (std::ranges::none_of(a, [](float value) { return value != 0; }))
      return ::testing::AssertionFailure() << "there is nothing to compare";
    if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " and " << b.size() << " sums";
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::memcmp(&a[i], &b[i], sizeof a[i]) != 0)
        return ::testing::AssertionFailure() << "sum " << i << ": " << a[i] << " and " << b[i];
    }
    return ::testing::AssertionSuccess();
  }
  // Compares products on units with those without.
  void expect_bits_without_units(std::optional<gpu::MatrixUnits> units) {
    open_card(gpu::MatrixUnits::none);
    const auto plain = products_of_many_tokens();
    const auto plain_stack = product_of_stack();
    open_card(units);
    const auto with_units = products_of_many_tokens();
    for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(same_bits(with_units[i], plain[i])) << "product " << i;
    EXPECT_TRUE(same_bits(product_of_stack(), plain_stack));
  }
  std::mt19937 random_{7};
};

TEST_F(VulkanActI8, has_the_same_bits_by_dot_products_and_one_by_one) {
  Handle handle(0, {}, validation_layers_present() ? &messages_ : nullptr);
  if (!handle.has_integer_dot_product()) GTEST_SKIP() << "skipped: the device has no VK_KHR_shader_integer_dot_product";
  Pipelines pipelines(handle, PipelineFile("", {}));
  EXPECT_TRUE(prove_packed_dot(handle, pipelines));
  std::vector<MatMul> products;
  for (const StorageType type : {StorageType::q4_0, StorageType::q4_1, StorageType::q8_0, StorageType::q4_k,
                                 StorageType::q3_k, StorageType::q6_k}) {
    MatMul op;
    op.S = 6, op.K = op.x_stride = 256, op.row_end = op.y_stride = 100, op.act_i8 = true;
    op.w = {packed_format(type), 100, 256, {}};
    op.w.data = filled(op.w.bytes());
    op.x = filled(static_cast<size_t>(op.S * op.K) * sizeof(float));
    products.push_back(op);
  }
  std::vector<std::vector<float>> one_by_one;
  DeviceOptions spared;
  spared.precautions.spared["dot products"] = "for this test";
  device_ = open(spared);
  for (const MatMul& op : products) one_by_one.push_back(product(op));
  device_ = open();
  for (size_t i = 0; i < products.size(); ++i) {
    const auto four = product(products[i]);
    EXPECT_TRUE(same_bits(four, one_by_one[i])) << to_string(products[i].w.format);
  }
}

TEST_F(VulkanActI8, has_the_same_bits_on_emulated_matrix_units) {
  expect_bits_without_units(gpu::MatrixUnits::emulated);
}

// The lavapipe of Debian 12 has no matrix units; Mesa 26.1 has some.
TEST_F(VulkanActI8, has_the_same_bits_on_matrix_units) {
  Handle handle(0, {}, nullptr);
  if (!handle.matrix_units()) GTEST_SKIP() << "skipped: the device has no cooperative matrices of signed bytes";
  open_card(std::nullopt);
  EXPECT_THAT(device_->info().kernels, ::testing::Contains(::testing::HasSubstr("VK_KHR_cooperative_matrix")));
  expect_bits_without_units(std::nullopt);
}

}  // namespace
}  // namespace tandem::vulkan
