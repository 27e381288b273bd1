// Which cooperative matrices shaders/matmul_units.glsl takes, on shapes that drivers offer. The tests need no driver.
#include "engine/device/vulkan/cooperative_matrix.h"

#include <gtest/gtest.h>

#include "engine/device/vulkan/vk.h"

namespace tandem::vulkan {
namespace {

// Signed bytes, sums of 32 bits, subgroups (the specification's numbers).
CooperativeMatrixProperties offer(uint32_t rows, uint32_t tokens, uint32_t columns) {
  auto offered = typed<CooperativeMatrixProperties>(kCooperativeMatrixProperties);
  offered.rows = rows, offered.tokens = tokens, offered.columns = columns;
  offered.of_rows = offered.of_tokens = 3, offered.added = offered.sums = 5, offered.scope = 3;
  return offered;
}

TEST(CooperativeMatrix, of_known_drivers_cut_a_tile_of_64_rows_and_64_tokens) {
  using gpu::MatrixShape;
  EXPECT_EQ(shape_for(offer(16, 16, 32), 32), (MatrixShape{16, 16, 32, 4}));  // NVIDIA
  EXPECT_EQ(shape_for(offer(16, 8, 32), 32), (MatrixShape{16, 8, 32, 4}));
  EXPECT_EQ(shape_for(offer(16, 16, 16), 64), (MatrixShape{16, 16, 16, 2}));  // AMD
  EXPECT_EQ(shape_for(offer(8, 16, 32), 16), (MatrixShape{8, 16, 32, 8}));    // Intel
  EXPECT_EQ(shape_for(offer(8, 8, 8), 8), (MatrixShape{8, 8, 8, 16}));        // lavapipe
}

TEST(CooperativeMatrix, that_do_not_fit_are_not_taken) {
  EXPECT_FALSE(shape_for(offer(16, 16, 64), 32)) << "more columns than a group of codes";
  EXPECT_FALSE(shape_for(offer(16, 16, 32), 8)) << "16 subgroups have 8 rows each";
  EXPECT_FALSE(shape_for(offer(32, 32, 32), 32)) << "more sums than the shader has memory for";
  EXPECT_FALSE(shape_for(offer(16, 16, 32), 48)) << "a group of 128 has no whole number of subgroups";
  EXPECT_FALSE(shape_for(offer(16, 16, 32), 0));
  EXPECT_FALSE(shape_for(offer(0, 16, 32), 32));
  EXPECT_FALSE(shape_for(offer(16, 0, 32), 32));
  EXPECT_FALSE(shape_for(offer(24, 16, 32), 32)) << "24 rows do not cut 32";
}

TEST(CooperativeMatrix, of_other_types_and_scopes_are_not_taken) {
  auto floats = offer(16, 16, 32), unsigned_bytes = floats, of_groups = floats, saturating = floats, bytes = floats;
  floats.of_rows = 0;
  unsigned_bytes.of_tokens = 7;
  of_groups.scope = 2;
  saturating.saturates = VK_TRUE;
  bytes.sums = 3;
  for (const auto& offered : {floats, unsigned_bytes, of_groups, saturating, bytes})
    EXPECT_FALSE(shape_for(offered, 32));
}

}  // namespace
}  // namespace tandem::vulkan
