#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/run/choice/contract.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceInfo gpu(bool fused, KernelFamily family) {
  DeviceInfo info;
  info.id = "opencl:0";
  info.kind = DeviceKind::gpu;
  info.family = family;
  info.fused_fma = fused;
  return info;
}

DeviceInfo npu() {
  DeviceInfo info;
  info.id = "npu:0";
  info.kind = DeviceKind::npu;
  info.fused_fma = info.rounds_to_f16 = true;
  return info;
}

const std::vector<PackedFormat> kQuantised{packed_format(StorageType::q4_0), packed_format(StorageType::f16)};
const std::vector<PackedFormat> kWide{packed_format(StorageType::q4_0), packed_format(StorageType::bf16)};

std::vector<std::string> reasons(const std::vector<DeviceInfo>& devices, const std::vector<PackedFormat>& weights,
                                 ActType act) {
  std::vector<const DeviceInfo*> borrowed;
  for (const DeviceInfo& device : devices) borrowed.push_back(&device);
  return reasons_for_other_bits(borrowed, weights, act);
}

bool depend_on_passes(const std::vector<DeviceInfo>& devices, const std::vector<PackedFormat>& weights, ActType act) {
  std::vector<const DeviceInfo*> borrowed;
  for (const DeviceInfo& device : devices) borrowed.push_back(&device);
  return bits_depend_on_passes(borrowed, weights, act);
}

TEST(BitsOfPieces, depend_on_the_pass_where_devices_with_different_arithmetic_share_it) {
  const DeviceInfo exact = gpu(true, KernelFamily::simd), unfused = gpu(false, KernelFamily::simd);
  EXPECT_FALSE(depend_on_passes({exact, npu()}, kQuantised, ActType::f16));
  EXPECT_TRUE(depend_on_passes({exact, npu()}, kQuantised, ActType::f32));
  EXPECT_TRUE(depend_on_passes({exact, npu()}, kWide, ActType::f16));
  EXPECT_TRUE(depend_on_passes({unfused, npu()}, kQuantised, ActType::f16));
  EXPECT_FALSE(depend_on_passes({unfused}, kWide, ActType::f32)) << "alone it has no other arithmetic beside it";
  EXPECT_FALSE(depend_on_passes({exact}, kQuantised, ActType::f32));
}

TEST(OtherBits, have_no_reason_where_every_device_keeps_the_contract) {
  EXPECT_THAT(reasons({gpu(true, KernelFamily::simd), npu()}, kQuantised, ActType::f16), IsEmpty());
  EXPECT_THAT(reasons({gpu(true, KernelFamily::simd)}, kWide, ActType::f16), IsEmpty())
      << "without an NPU no weight is rounded";
}

TEST(OtherBits, of_8_bit_activations_come_from_weights_that_have_no_integers) {
  const std::vector<PackedFormat> integers{packed_format(StorageType::q4_0), packed_format(StorageType::q6_k)};
  const DeviceInfo exact = gpu(true, KernelFamily::simd);
  EXPECT_THAT(reasons({exact, npu()}, integers, ActType::i8), IsEmpty());
  EXPECT_FALSE(depend_on_passes({exact, npu()}, integers, ActType::i8));
  EXPECT_THAT(reasons({exact}, kQuantised, ActType::i8), IsEmpty()) << "nobody rounds";
  EXPECT_THAT(reasons({exact, npu()}, kQuantised, ActType::i8),
              ElementsAre(HasSubstr("npu:0 rounds activations to f16")));
  EXPECT_TRUE(depend_on_passes({exact, npu()}, kQuantised, ActType::i8));
}

TEST(OtherBits, come_from_a_gpu_that_rounds_in_another_way) {
  EXPECT_THAT(reasons({gpu(false, KernelFamily::simd)}, kQuantised, ActType::f16), ElementsAre(HasSubstr("not fused")));
  DeviceInfo inexact = gpu(false, KernelFamily::simt);
  inexact.exact_quotients = false;
  EXPECT_THAT(reasons({inexact}, kQuantised, ActType::f16), ElementsAre(HasSubstr("not fused"), HasSubstr("divides")));
}

// A card's kernels have the order of sums of every other device.
TEST(OtherBits, do_not_come_from_the_kernels_of_cards) {
  EXPECT_THAT(reasons({gpu(true, KernelFamily::simt), npu()}, kQuantised, ActType::f16), IsEmpty());
  EXPECT_FALSE(depend_on_passes({gpu(true, KernelFamily::simt), gpu(true, KernelFamily::simd), npu()}, kQuantised,
                                ActType::f16));
}

TEST(OtherBits, come_from_an_npu_that_rounds_what_others_do_not) {
  EXPECT_THAT(reasons({gpu(true, KernelFamily::simd)}, kQuantised, ActType::f32),
              ElementsAre(HasSubstr("activations stay f32")));
  EXPECT_THAT(reasons({gpu(true, KernelFamily::simd), npu()}, kWide, ActType::f32),
              ElementsAre(HasSubstr("activations stay f32"), HasSubstr("npu:0 rounds F32 and BF16 weights")));
  EXPECT_THAT(reasons({npu()}, kWide, ActType::f16), ElementsAre(HasSubstr("BF16 weights")));
}

// One matmul with weights of `format` on the device.
std::string why_not(const DeviceInfo& device, PackedFormat format, bool f16_activations) {
  MatMul matmul;
  matmul.w.format = format;
  Plan plan;
  plan.devices = {"other", device.id};
  plan.steps = {{1, {{"blk.0.attn_qkv", matmul}}, {}, true}};
  DeviceInfo other;  // keeps no rule of the contract, but has no step
  other.id = "other";
  const std::vector<const DeviceInfo*> devices = {&other, &device};
  return why_not_contract_bits(plan, devices, f16_activations);
}

TEST(ContractBits, are_those_of_fused_multiply_adds_over_operands_that_fit) {
  const PackedFormat f32{}, f16{PackedKind::f16};
  DeviceInfo gpu;
  gpu.id = "opencl:0";
  gpu.fused_fma = true;
  gpu.family = KernelFamily::simd;
  EXPECT_EQ(why_not(gpu, f32, false), "");
  DeviceInfo simt = gpu, unfused = gpu, npu = gpu;
  simt.family = KernelFamily::simt;
  unfused.fused_fma = false;
  npu.rounds_to_f16 = true;
  EXPECT_EQ(why_not(simt, f16, true), "");
  EXPECT_THAT(why_not(unfused, f16, true), HasSubstr("not fused"));
  EXPECT_EQ(why_not(npu, f16, true), "");
  EXPECT_THAT(why_not(npu, f16, false), HasSubstr("rounds activations"));
  EXPECT_THAT(why_not(npu, f32, true), HasSubstr("weights to f16"));
}

}  // namespace
}  // namespace tandem
