#include "npu_emu/energy_model.h"

#include <gtest/gtest.h>

namespace tandem::npu_emu {
namespace {

NpuParams tiny() {
  NpuParams params;
  params.array = {4, 3};
  params.clock_hz = 1e6;
  params.memory_bytes_per_second = 1e9;
  return params;
}

TEST(EnergyModel, adds_up_multiply_adds_traffic_and_static_power) {
  const NpuParams params = tiny();
  const ProductShape shape{5, 6, 4};
  const ProductCost cost = product_cost(params, shape, NumberFormat::fp16, 48);
  // The product takes 55 cycles at 1 MHz (see the cycle model's test). At 1 GB/s the 48 bytes of weights and 4 * 5 * (6
  // + 4) bytes of activations take less time.
  EXPECT_DOUBLE_EQ(55e-6, cost.seconds);
  EXPECT_DOUBLE_EQ(248, cost.dram_bytes);
  // SRAM, ws: each of the 2 column folds reads 6*4 weights and 5*6 inputs of 2 bytes. The 5*4 sums of 4 bytes are
  // written twice and read once.
  EXPECT_DOUBLE_EQ(2 * (24 + 60) + 4 * 20 * 3, cost.sram_bytes);
  EXPECT_DOUBLE_EQ(120 * params.energy.mac_fp16_joules + cost.sram_bytes * params.energy.sram_byte_joules +
                       248 * params.energy.dram_byte_joules + 55e-6 * params.energy.static_watts,
                   cost.joules);
}

TEST(EnergyModel, takes_the_memorys_time_when_it_is_longer) {
  NpuParams params = tiny();
  params.memory_bytes_per_second = 1e6;
  const ProductCost cost = product_cost(params, {5, 6, 4}, NumberFormat::fp16, 48);
  EXPECT_DOUBLE_EQ(248e-6, cost.seconds);
  EXPECT_DOUBLE_EQ(55e-6, cost.array_seconds);
  params.energy = {};
  params.energy.static_watts = 2;
  params.energy.mac_fp16_joules = params.energy.sram_byte_joules = params.energy.dram_byte_joules = 0;
  EXPECT_DOUBLE_EQ(2 * 248e-6, product_cost(params, {5, 6, 4}, NumberFormat::fp16, 48).joules)
      << "the array leaks while it waits for the memory, too";
}

TEST(EnergyModel, counts_output_stationary_traffic_once_per_fold_across) {
  // There are 5 rows of x in 2 folds and 4 rows of w in 2. Each x row streams for 2 column folds, and each w row for 2
  // row folds. Sums are written once.
  EXPECT_DOUBLE_EQ(1.0 * 6 * (5 * 2 + 4 * 2) + 4.0 * 20,
                   sram_traffic_bytes({4, 3}, Dataflow::output_stationary, {5, 6, 4}, NumberFormat::int8));
}

TEST(EnergyModel, charges_int8_less_than_fp16) {
  const NpuParams params;
  const ProductShape shape{64, 64, 64};
  EXPECT_LT(product_cost(params, shape, NumberFormat::int8, 4096).joules,
            product_cost(params, shape, NumberFormat::fp16, 4096).joules);
}

}  // namespace
}  // namespace tandem::npu_emu
