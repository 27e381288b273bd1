// The first measurement of devices without known rates.
#include "engine/run/choice/probe.h"

#include <gtest/gtest.h>

#include "engine/graph/decoder.h"
#include "engine/run/engine.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

Operator product(const std::string& name, int64_t rows, int64_t S, int64_t K, int64_t layer) {
  MatMul matmul;
  matmul.S = S, matmul.K = K, matmul.row_end = rows;
  matmul.w.rows = rows, matmul.w.columns = K;
  return {name, matmul, layer};
}

// 2 x 32 tokens x 4096 columns are 262,144 FLOP a row. 381 rows make 0.1 GFLOP, and 5 whole panels of 64 fit within it.
TEST(Probe, is_as_many_panels_of_the_largest_product_of_a_layer_as_take_a_millisecond) {
  const std::vector<Operator> operators = {product("small", 512, 32, 4096, 0), product("large", 14336, 32, 4096, 3),
                                           product("output", 128256, 32, 4096, -1)};
  const auto probe = probe_of(operators);
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->name, "large");
  const auto& matmul = std::get<MatMul>(probe->body);
  EXPECT_EQ(matmul.row_begin, 0);
  EXPECT_EQ(matmul.row_end, 5 * 64);
  EXPECT_EQ(matmul.S, 32);
}

TEST(Probe, is_a_panel_at_the_least_and_no_more_than_there_is) {
  const auto rows_of = [](const Operator& op) {
    const std::vector<Operator> one = {op};
    return std::get<MatMul>(probe_of(one)->body).row_end;
  };
  EXPECT_EQ(rows_of(product("wide", 256, 32, 1 << 24, 0)), 64);
  EXPECT_EQ(rows_of(product("small", 100, 1, 64, 0)), 100);
}

// A router's weights must not be rounded. Few devices run it, and it is small.
TEST(Probe, is_no_router_and_nothing_outside_of_layers) {
  Operator router = product("router", 64, 32, 512, 0);
  std::get<MatMul>(router.body).decides = true;
  const std::vector<Operator> operators = {router, product("output", 4096, 32, 512, -1)};
  EXPECT_FALSE(probe_of(operators));
}

class ProbeOfDevices : public ::testing::Test {
 protected:
  const HostEngines engines_{"probe"};
};

TEST_F(ProbeOfDevices, tells_what_nobody_has_measured_and_nothing_else) {
  const auto engine = engines_.open();
  DiskCache cache{""};
  MachineRates rates(engine->machine().devices(), cache);
  const auto probe = probe_of(engine->plans().operators_for({kProbeTokens, 1}));
  ASSERT_TRUE(probe);
  EXPECT_FALSE(rates.knows(0));
  const double before = rates.costs({}).seconds(0, *probe, false);
  rates.learn_alone(0, *probe, 1000 * before);
  EXPECT_TRUE(rates.knows(0));
  const double slow = rates.costs({}).seconds(0, *probe, false);
  EXPECT_GT(slow, 100 * before);
  probe_unknown(engine->machine().devices(), *probe, engine->machine().executor(), rates);
  EXPECT_EQ(rates.costs({}).seconds(0, *probe, false), slow);

  MachineRates unknown(engine->machine().devices(), cache);
  probe_unknown(engine->machine().devices(), *probe, engine->machine().executor(), unknown);
  EXPECT_TRUE(unknown.knows(0));
}

}  // namespace
}  // namespace tandem::testing
