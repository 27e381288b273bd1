// Products with 8-bit activations have the same bits four at once, if the device supports that, as one by one.
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
  Operand filled(size_t bytes) {
    Operand at{&pool_.acquire(bytes, sync::SlotUse::activations, "operand"), 0};
    // With bit 6 of each byte cleared, all halves are finite and below 2, and all floats are small.
    for (size_t i = 0; i < bytes; ++i) at.as<uint8_t>()[i] = static_cast<uint8_t>(random_() & 0xbf);
    return at;
  }
  std::vector<float> product(MatMul op) {
    const size_t count = static_cast<size_t>(op.S * op.row_end);
    op.y = {&pool_.acquire(count * sizeof(float), sync::SlotUse::activations, "y"), 0};
    const Operator whole{"product", op};
    const auto program = device_->prepare(std::span(&whole, 1));
    launch_one(*device_, *program, {}, {});
    device_->finish(kDeadline);
    return {op.y.as<float>(), op.y.as<float>() + count};
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
    EXPECT_EQ(std::memcmp(four.data(), one_by_one[i].data(), four.size() * sizeof(float)), 0)
        << to_string(products[i].w.format);
    EXPECT_TRUE(std::ranges::any_of(four, [](float value) { return value != 0; })) << "there is something to compare";
  }
}

}  // namespace
}  // namespace tandem::vulkan
