#include "engine/moe/mixture_shape.h"

#include <gtest/gtest.h>

#include "engine/model/shapes.h"
#include "sync/error.h"

namespace tandem {
namespace {

TEST(MixtureShape, of_phi_has_its_published_sizes) {
  const MixtureShape phi = mixture_shape(model_shape("phi-3.5-moe"));
  EXPECT_EQ(phi.layers, 32);
  EXPECT_EQ(phi.experts, 16);
  EXPECT_EQ(phi.used, 2);
  EXPECT_EQ(phi.expert.weight_bytes(), int64_t{150} << 20);
  // q, k and v have 4096 x (4096 + 2 x 1024) weights, the output 4096 x 4096. There are 32 heads of 128, twice.
  EXPECT_EQ(phi.projection_weights, 41943040);
  EXPECT_EQ(phi.product_width, 8192);
  // 1024 tokens see 512 positions each on average: 2 x 1024 x (41943040 + 8192 x 512).
  EXPECT_DOUBLE_EQ(phi.attention_flops(1024), 94489280512.0);
}

TEST(MixtureShape, counts_shared_experts_dense_layers_and_latent_attention) {
  const MixtureShape deepseek = mixture_shape(model_shape("deepseek-v2-lite"));
  EXPECT_EQ(deepseek.layers, 26) << "the first of 27 is dense";
  EXPECT_EQ(deepseek.shared_feed_forward, 2816);
  // 2048 x (16 x 192 + 576 + 16 x 128) weights, and 16 x 512 x (128 + 128) into the latents and out of them.
  EXPECT_EQ(deepseek.projection_weights, 13762560);
  EXPECT_EQ(deepseek.product_width, 16 * (512 + 64 + 512));
  // One token takes 2 x (projections + 3 x 2048 x 2816 + 17408 / 2).
  EXPECT_DOUBLE_EQ(deepseek.attention_flops(1), 2.0 * (13762560 + 17301504 + 8704));
}

TEST(MixtureShape, of_a_dense_model_is_an_error) { EXPECT_THROW(mixture_shape(model_shape("llama-3-8b")), Error); }

}  // namespace
}  // namespace tandem
