// The table of product kernels: every product has a row, every row has a product, and needs are kept.
#include "engine/device/gpu/product_kernels.h"

#include <gmock/gmock.h>

#include <set>

#include "engine/tensor/packed.h"

namespace tandem::gpu {
namespace {

using ::testing::HasSubstr;

LoweringContext device(KernelFamily family, bool shaders) {
  LoweringContext context;
  context.family = family;
  context.shaders = shaders;
  return context;
}

// Every device: two families and interfaces, small and large groups, with and without matrix units.
std::vector<LoweringContext> all_devices() {
  std::vector<LoweringContext> all;
  for (const KernelFamily family : {KernelFamily::simd, KernelFamily::simt}) {
    for (const bool shaders : {false, true}) {
      for (const size_t group : {256, 1024}) {
        for (const MatrixUnits units :
             {MatrixUnits::none, MatrixUnits::ptx, MatrixUnits::cooperative, MatrixUnits::emulated}) {
          all.push_back(device(family, shaders));
          all.back().max_work_group = group;
          all.back().matrix_units = units;
        }
      }
    }
  }
  return all;
}

std::vector<ProductShape> all_products(KernelFamily family) {
  std::vector<ProductShape> all;
  for (const StorageType type : {StorageType::q4_0, StorageType::q6_k, StorageType::f16}) {
    for (const bool grouped : {false, true}) {
      for (const bool act_i8 : {false, true}) {
        for (const bool row_pieces : {false, true}) {
          for (const int64_t tokens : {1, 3, 4, 5, 8, 9, 64, static_cast<int>(kAnyTokens)}) {
            if (act_i8 && type == StorageType::f16) continue;
            if (row_pieces && family == KernelFamily::simd) continue;
            all.push_back({packed_format(type), grouped, act_i8, tokens, row_pieces});
            if (grouped && tokens == kAnyTokens)
              all.push_back({packed_format(type), grouped, act_i8, tokens, row_pieces, true});
          }
        }
      }
    }
  }
  return all;
}

TEST(ProductKernels, have_a_row_for_every_product_and_a_product_for_every_row) {
  std::set<const ProductKernel*> chosen;
  for (const LoweringContext& context : all_devices()) {
    for (const ProductShape& shape : all_products(context.family)) {
      const ProductKernel& kernel = product_kernel(shape, context);
      EXPECT_TRUE(kernel.is_for(shape, context)) << kernel.name;
      chosen.insert(&kernel);
    }
  }
  for (const ProductKernel& kernel : product_kernels()) EXPECT_EQ(chosen.count(&kernel), 1u) << kernel.name;
}

// A small batch goes by ids, and would multiply the choices of other waves and devices too.
TEST(ProductKernels, of_listed_choices_alone_read_lists) {
  for (const LoweringContext& context : all_devices()) {
    for (const ProductShape& shape : all_products(context.family)) {
      if (!shape.listed_only) continue;
      EXPECT_FALSE(product_kernel(shape, context).is_small_batch());
    }
  }
}

TEST(ProductKernels, of_a_small_batch_have_its_tokens_as_a_constant) {
  for (const LoweringContext& context : all_devices()) {
    for (const ProductShape& shape : all_products(context.family)) {
      const ProductKernel& kernel = product_kernel(shape, context);
      const KernelLaunch launch = product_launch(kernel, shape, 64, context);
      if (!kernel.is_small_batch()) continue;
      EXPECT_THAT(launch.kernel, HasSubstr("small_batch"));
      // One kernel takes any number of choices, each by itself.
      const bool is_apart = kernel.products.most_tokens == kAnyTokens;
      EXPECT_THAT(launch.options + " ", HasSubstr(" -DTOKENS=" + std::to_string(is_apart ? 1 : shape.tokens) + " "));
      EXPECT_EQ(kernel.cut.tokens, is_apart ? 1 : 0) << kernel.name;
    }
  }
}

// 130 rows: three groups of 64 of them, or 17 groups of 8.
TEST(ProductKernels, cut_rows_into_groups) {
  LoweringContext card = device(KernelFamily::simt, false);
  ProductShape shape{.format = packed_format(StorageType::q4_0), .row_pieces = true};
  const auto launch = [&] { return product_launch(product_kernel(shape, card), shape, 130, card); };
  EXPECT_EQ(launch().local, (std::array<size_t, 3>{8, 16, 1}));
  EXPECT_EQ(launch().global, (std::array<size_t, 3>{17 * 8, 16, 1}));
  shape.row_pieces = false;
  EXPECT_EQ(launch().local, (std::array<size_t, 3>{64, 4, 1}));
  EXPECT_EQ(launch().global, (std::array<size_t, 3>{3 * 64, 4, 1}));
  shape.tokens = 9;
  EXPECT_EQ(launch().global, (std::array<size_t, 3>{3 * 128, 1, 1}));
  shape.act_i8 = true;
  EXPECT_EQ(launch().global, (std::array<size_t, 3>{3 * 256, 1, 1}));
}

// Matrix units add 32 columns at once; a scale of Q6_K has 16.
TEST(ProductKernels, use_matrix_units_where_these_were_proven_and_suit_the_format) {
  LoweringContext card = device(KernelFamily::simt, false);
  card.matrix_units = MatrixUnits::ptx;
  ProductShape shape{.format = packed_format(StorageType::q4_0), .act_i8 = true, .tokens = 64, .row_pieces = true};
  const auto options = [&] { return product_launch(product_kernel(shape, card), shape, 64, card).options; };
  EXPECT_THAT(options(), HasSubstr("-DMATRIX_UNITS=1"));
  card.matrix_units = MatrixUnits::emulated;
  EXPECT_THAT(options(), HasSubstr("-DMATRIX_UNITS=2"));
  for (const bool is_format : {true, false}) {
    if (is_format) shape.format = packed_format(StorageType::q6_k);
    EXPECT_THAT(options(), ::testing::Not(HasSubstr("MATRIX_UNITS")));
    shape.format = packed_format(StorageType::q4_0);
    card.shaders = true;
  }
}

TEST(ProductKernels, use_cooperative_matrices_of_the_shape_that_the_device_has) {
  LoweringContext card = device(KernelFamily::simt, true);
  card.matrix_units = MatrixUnits::cooperative, card.packed_dot = PackedDot::extension;
  card.matrix_shape = {.rows = 8, .tokens = 16, .columns = 32, .subgroups = 8};
  ProductShape shape{.format = packed_format(StorageType::q4_0), .act_i8 = true, .tokens = 64, .row_pieces = true};
  const auto launch = [&] { return product_launch(product_kernel(shape, card), shape, 64, card); };
  EXPECT_EQ(launch().kernel, "matmul_gemm_units");
  EXPECT_EQ(launch().local, (std::array<size_t, 3>{128, 1, 1}));
  EXPECT_THAT(launch().options, HasSubstr("-DUNIT_ROWS=8 -DUNIT_TOKENS=16 -DUNIT_COLUMNS=32 -DSUBGROUPS=8"));
  shape.grouped = true;
  EXPECT_EQ(launch().kernel, "grouped_gemm_units");
  shape.tokens = 4;
  EXPECT_EQ(launch().kernel, "grouped_small_batch_rows_dot");
  shape.tokens = 64, shape.format = packed_format(StorageType::q6_k);
  EXPECT_EQ(launch().kernel, "grouped_gemm_dot");
  shape.format = packed_format(StorageType::q4_0), card.matrix_units = MatrixUnits::ptx;
  EXPECT_EQ(launch().kernel, "grouped_gemm_dot");
}

TEST(ProductKernels, need_groups_of_256_on_graphics_cards) {
  LoweringContext card = device(KernelFamily::simt, true);
  card.max_work_group = 128;
  const ProductShape shape{.format = packed_format(StorageType::q4_0)};
  EXPECT_ANY_THROW(product_launch(product_kernel(shape, card), shape, 64, card));
}

}  // namespace
}  // namespace tandem::gpu
