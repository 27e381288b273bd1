// The launches that a decoder layer takes on a graphics card, by the names of their kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/gpu/fused.h"
#include "engine/graph/decoder.h"
#include "engine/model/shapes.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

// A card of 132 units, whose weights lie in pieces of rows.
gpu::LoweringContext card() {
  gpu::LoweringContext context;
  context.family = KernelFamily::simt;
  context.compute_units = 132;
  context.max_work_group = 1024;
  context.packed_dot = gpu::PackedDot::dp4a;
  context.has_row_pieces = [](const sync::Slot*) { return true; };
  return context;
}

// The kernels of the second of three layers, for a pass of `tokens` tokens.
std::vector<std::string> kernels_of_a_layer(const std::string& shape, int64_t tokens, const GraphOptions& options) {
  Model model = shape_only_model(model_shape(shape), packed_format(StorageType::q4_0));
  model.config.layers = 3;
  model.weights.layers.resize(3);
  sync::Pool pool;
  const Activations buffers(model.config, {.tokens = tokens, .positions = 512, .context = 512}, &pool);
  const std::vector<Operator> operators = build_decoder(model, buffers, {tokens, 1}, options);
  std::vector<std::string> kernels;
  for (const gpu::LoweredRun& run : gpu::lower_program(operators, card()))
    for (const gpu::KernelLaunch& launch : run.launches)
      if (operators[launch.op].layer == 1) kernels.push_back(launch.kernel);
  return kernels;
}

TEST(CardLaunches, of_a_layer_are_as_few_as_its_kernels_allow) {
  for (const int64_t tokens : {1, 4})
    EXPECT_THAT(kernels_of_a_layer("llama-3.2-1b", tokens, {}),
                ElementsAre("rms_norm_simt", "matmul_small_batch", "rope_append_simt", "attention_split_simt",
                            "attention_merge_simt", "matmul_small_batch", "rms_norm_simt", "matmul_small_batch",
                            "matmul_small_batch"));
}

TEST(CardLaunches, with_8_bit_activations_make_few_codes_by_themselves) {
  EXPECT_THAT(kernels_of_a_layer("llama-3.2-1b", 1, {.act_i8 = true}),
              ElementsAre("rms_norm_codes_simt", "matmul_small_batch", "rope_append_simt", "attention_split_simt",
                          "attention_merge_codes_simt", "matmul_small_batch", "rms_norm_codes_simt",
                          "matmul_small_batch", "act_i8_simt", "matmul_small_batch"));
}

TEST(CardLaunches, with_norms_of_heads_are_no_more) {
  EXPECT_EQ(kernels_of_a_layer("qwen3-0.6b", 1, {}), kernels_of_a_layer("llama-3.2-1b", 1, {}));
}

TEST(CardLaunches, with_biases_and_a_parallel_network_are_no_more) {
  EXPECT_EQ(kernels_of_a_layer("qwen2.5-0.5b", 1, {}), kernels_of_a_layer("llama-3.2-1b", 1, {}));
  EXPECT_THAT(kernels_of_a_layer("phi-2", 1, {}),
              ElementsAre("rms_norm_simt", "matmul_small_batch", "rope_append_simt", "attention_split_simt",
                          "attention_merge_simt", "matmul_small_batch", "matmul_small_batch", "matmul_small_batch"));
}

}  // namespace
}  // namespace tandem
