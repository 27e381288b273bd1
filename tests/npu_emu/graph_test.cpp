#include "npu_emu/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/error.h"

namespace tandem::npu_emu {
namespace {

constexpr PackedFormat kHalves{PackedKind::f16};

using testing::HasSubstr;

std::string compile_error(const NpuParams& params, const std::vector<GraphProduct>& products) {
  try {
    compile(params, "graph", products);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(GraphCompiler, adds_up_the_products_of_a_graph) {
  const NpuParams params;
  const GraphProduct a{"a", 16, 64, 128, kHalves}, b{"b", 16, 128, 64, kHalves};
  const CompiledGraph graph = compile(params, "graph", {a, b});
  ASSERT_EQ(2u, graph.costs.size());
  EXPECT_EQ(graph.costs[0].count.cycles + graph.costs[1].count.cycles, graph.cycles);
  EXPECT_DOUBLE_EQ(params.launch_seconds + graph.costs[0].seconds + graph.costs[1].seconds, graph.seconds);
  EXPECT_DOUBLE_EQ(graph.costs[0].joules + graph.costs[1].joules, graph.joules);
}

TEST(GraphCompiler, takes_longer_for_larger_tensors) {
  NpuParams params;
  params.compiler.fixed_seconds = 1;
  params.compiler.matmul_seconds = 0.5;
  params.compiler.byte_seconds = 1e-6;
  // The graph has 64 x 32 halves and 8 x (32 + 64) floats.
  EXPECT_DOUBLE_EQ(1.5 + 1e-6 * (64 * 32 * 2 + 8 * 96 * 4),
                   compile(params, "g", {{"a", 8, 64, 32, kHalves}}).compile_seconds);
}

TEST(GraphCompiler, refuses_extents_that_are_not_known) {
  const NpuParams params;
  EXPECT_THAT(compile_error(params, {{"good", 1, 64, 64, kHalves}, {"open", -1, 64, 64, kHalves}}),
              HasSubstr("graph: open"));
  EXPECT_THAT(compile_error(params, {{"open", 0, 64, 64, kHalves}}), HasSubstr("dynamic shape"));
}

TEST(GraphCompiler, refuses_graphs_above_its_limits) {
  NpuParams params;
  params.compiler.max_graph_bytes = 3 * (64 * 64 * 2 + 4 * 128);
  const GraphProduct product{"p", 1, 64, 64, kHalves};
  EXPECT_NO_THROW(compile(params, "g", {product, product, product}));
  EXPECT_THAT(compile_error(params, {product, product, product, product}), HasSubstr("prepare fewer operators"));
  EXPECT_THAT(compile_error(params, {{"big", 1, 640, 640, kHalves}}), HasSubstr("limit"));
  params.compiler.max_extent = 63;
  EXPECT_THAT(compile_error(params, {product}), HasSubstr("sequencer"));
}

TEST(GraphCompiler, counts_packed_weights_by_their_packed_size) {
  const GraphProduct product{"p", 1, 100, 64, {PackedKind::i4, ScaleKind::half, MinKind::explicit_, 32, 0}};
  // Two panels (100 rows) of two tiles: 64 scales and 64 minima of 2 bytes, 1024 bytes of codes each.
  EXPECT_DOUBLE_EQ(2 * 2 * (128 + 128 + 1024), product.weight_bytes());
  EXPECT_EQ(NumberFormat::int4_fp16, product.number_format());
}

}  // namespace
}  // namespace tandem::npu_emu
