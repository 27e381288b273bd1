// A near-memory unit as a device: its parameters, what it refuses, its modelled time, and partial sums (G1, G2).
#include "engine/device/ndp/ndp_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "engine/device/ndp/unit_time.h"
#include "engine/device/registry.h"
#include "engine/tensor/types.h"
#include "packed/decode.h"
#include "packed/row_product.h"
#include "sync/error.h"
#include "sync/pool.h"
#include "tests/support/message_of.h"

namespace tandem {
namespace {

using test::message_of;
using ::testing::HasSubstr;

std::unique_ptr<Device> open(const std::string& id) { return open_device(id, {}); }

TEST(NdpDevice, is_the_papers_unit_unless_its_id_says_otherwise) {
  const auto device = open("ndp:0");
  EXPECT_EQ(device->info().name, "near-memory unit, 102.4 GB/s, 51.2 GMAC/s, 32 GiB");
  EXPECT_EQ(device->info().kind, DeviceKind::unit);
  EXPECT_EQ(device->info().memory_bytes, int64_t{32} << 30);
  EXPECT_TRUE(device->info().models_time);
  EXPECT_FALSE(device->info().cuts_rows);
  const auto other = open("ndp:3?gbps=50&gmacs=7.5&gib=0.5&link=8&host=40&card_gbps=100&card_gmacs=9&card_gib=2");
  EXPECT_EQ(other->info().id, "ndp:3");
  EXPECT_EQ(other->info().name, "near-memory unit, 50 GB/s, 7.5 GMAC/s, 0.5 GiB");
  const NearMemory& unit = other->info().near_memory;
  EXPECT_EQ(unit.link_bytes_per_second, 8e9);
  EXPECT_EQ(unit.host_bytes_per_second, 40e9);
  EXPECT_EQ(unit.card_bytes_per_second, 100e9);
  EXPECT_EQ(unit.card_macs_per_second, 9e9);
  EXPECT_EQ(unit.card_memory_bytes, 2.0 * (1 << 30));
  EXPECT_EQ(unit.memory_bytes, int64_t{1} << 29);
}

TEST(NdpDevice, names_a_bad_parameter) {
  for (const char* bad : {"gbps=0", "gmacs=-1", "gib=x", "gib=", "link=nan", "gib=1e9", "card_gib=inf"}) {
    const std::string id = std::string("ndp:0?") + bad, name = std::string(bad).substr(0, std::string(bad).find('='));
    EXPECT_THAT(message_of([&] { open(id); }), HasSubstr("no such " + name)) << id;
  }
  EXPECT_THAT(message_of([] { open("ndp:0?speed=1"); }), HasSubstr("no such parameter"));
  EXPECT_THAT(message_of([] { open("ndp:16"); }), HasSubstr("no such device"));
}

TEST(NdpDevice, refuses_everything_but_products_and_units_by_the_name_of_the_feature) {
  const auto device = open("ndp:0");
  for (const OperatorBody& body : std::initializer_list<OperatorBody>{MatMul(), GroupedMatMul(), Glu()})
    EXPECT_TRUE(device->supports({"taken", body}).yes);
  const std::pair<OperatorBody, const char*> refused[] = {{Embed(), "gather"},
                                                          {RmsNorm(), "norm"},
                                                          {Rope(), "rotation"},
                                                          {KvAppend(), "scatter"},
                                                          {Attention(), "attention"},
                                                          {Add(), "element-wise"},
                                                          {Bias(), "element-wise"},
                                                          {Scale(), "element-wise"},
                                                          {Softmax(), "softmax"},
                                                          {ArgMax(), "comparison"},
                                                          {TopK(), "top-k"},
                                                          {Route(), "routing"},
                                                          {ExpertLists(), "routing"},
                                                          {ExpertFetch(), "that move"},
                                                          {ExpertDecide(), "that move"},
                                                          {ExpertMove(), "copies of experts"},
                                                          {ExpertPrefetch(), "copies of experts"},
                                                          {ExpertSides(), "capacities"},
                                                          {ExpertSlots(), "capacities"},
                                                          {GatherRows(), "capacities"},
                                                          {ExpertSum(), "weighted sum"},
                                                          {Copy(), "copies"}};
  static_assert(std::size(refused) + 3 == std::variant_size_v<OperatorBody>);
  for (const auto& [body, reason] : refused) {
    EXPECT_FALSE(device->supports({"op", body}).yes) << reason;
    EXPECT_THAT(device->supports({"op", body}).reason, HasSubstr(reason));
    EXPECT_THAT(device->supports({"op", body}).reason, HasSubstr("near-memory unit"));
  }
}

GroupedMatMul products(int64_t S, int64_t k, int64_t E, int64_t N, int64_t K) {
  GroupedMatMul op;
  op.S = S, op.slots = k;
  op.w = {packed_format(StorageType::f16), E, N, K, {}, 0};
  return op;
}

// One token's two of eight experts: 2 * 64 * 128 weights of two bytes at 1e9 bytes/s, or as many multiply-adds at 1e9.
TEST(NdpDevice, takes_the_longer_of_reading_and_multiplying) {
  NearMemory unit = default_near_memory();
  unit.bytes_per_second = 1e9, unit.macs_per_second = 1e9;
  const Operator op{"up", products(1, 2, 8, 64, 128)};
  EXPECT_NEAR(unit_cost(unit, op).seconds, 2 * 64 * 128 * 2 / 1e9, 1e-15);
  unit.macs_per_second = 0.25e9;
  EXPECT_NEAR(unit_cost(unit, op).seconds, 2 * 64 * 128 / 0.25e9, 1e-15);
  EXPECT_EQ(unit_cost(unit, op).bytes, 2 * 64 * 128 * 2);
}

// A layer's down products as three units with inner cuts compute them, against one loop that adds in the same order.
class PartialSums : public ::testing::TestWithParam<StorageType> {
 protected:
  Operand take(size_t bytes) { return {&pool_.acquire(bytes, sync::SlotUse::activations, "test"), 0}; }
  Operand floats(int64_t count) { return take(static_cast<size_t>(count) * sizeof(float)); }
  sync::Pool pool_;
};

TEST_P(PartialSums, of_columns_have_the_bits_of_one_loop_that_adds_in_the_order_of_the_units) {
  constexpr int64_t S = 3, k = 2, E = 4, N = 100, K = 768;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const PackedFormat format = packed_format(GetParam());
  GroupedMatMul op = products(S, k, E, N, K);
  op.w.format = format;
  op.w.data = take(op.w.bytes());
  std::vector<std::byte> row(row_bytes(GetParam(), K));
  for (int64_t m = 0; m < E; ++m)
    for (int64_t n = 0; n < N; ++n) {
      for (std::byte& byte : row) byte = static_cast<std::byte>(random() % 120);  // halves stay finite
      pack_rows(GetParam(), row.data(), K, n, 1, op.w.matrix(m).data.as<std::byte>());
    }
  op.ids = take(S * k * sizeof(int32_t));
  const int32_t ids[] = {0, 2, 1, 2, 2, 3};
  std::ranges::copy(ids, op.ids.as<int32_t>());
  op.x = floats(S * k * K), op.x_stride = k * K, op.x_slot = K;
  for (int64_t i = 0; i < S * k * K; ++i) op.x.as<float>()[i] = uniform(random);
  op.y_stride = k * N, op.y_slot = N;

  // Each unit has runs of its own (packed/runs.h). Units of formats with small blocks end inside a tile of 64 columns.
  std::array<int64_t, 4> cuts{0, 256, 512, K};
  if (!format.super_blocks()) cuts = {0, 96, 416, K};
  std::vector<std::unique_ptr<Device>> units;
  std::vector<Operand> parts;
  for (size_t u = 0; u < 3; ++u) {
    units.push_back(u == 0 ? open("ndp:0") : open_unit_on(*units[0], "ndp:" + std::to_string(u), {}));
    op.y = parts.emplace_back(floats(S * k * N));
    const Operator slice{"down", slice_columns(op, cuts[u], cuts[u + 1])};
    const auto program = units[u]->prepare({&slice, 1});
    launch_one(*units[u], *program);
    units[u]->finish(std::chrono::seconds(60));
  }
  std::vector<float> w(K);
  for (int64_t c = 0; c < S * k; ++c) {
    const PackedMatrix matrix = op.w.matrix(ids[c]);
    for (int64_t n = 0; n < N; ++n) {
      decode_packed_row(format, matrix.data.as<std::byte>(), K, n, w.data());
      float expected = 0, found = 0;
      for (size_t u = 0; u < 3; ++u) {
        const float sum = row_product(w.data() + cuts[u], op.x.as<float>() + c * K + cuts[u], cuts[u + 1] - cuts[u]);
        const float part = parts[u].as<float>()[c * N + n];
        expected = u == 0 ? sum : expected + sum;
        found = u == 0 ? part : found + part;
      }
      ASSERT_EQ(std::bit_cast<uint32_t>(expected), std::bit_cast<uint32_t>(found)) << "choice " << c << ", row " << n;
    }
  }
  units.pop_back();
  units.pop_back();
}

INSTANTIATE_TEST_SUITE_P(Formats, PartialSums,
                         ::testing::Values(StorageType::f32, StorageType::q4_0, StorageType::q8_0, StorageType::q4_k,
                                           StorageType::q6_k));

TEST(SlicesOfColumns, keep_blocks_whole) {
  GroupedMatMul op = products(1, 2, 4, 64, 512);
  EXPECT_EQ(slice_columns(op, 32, 512).columns(), 480);
  EXPECT_THAT(message_of([&] { slice_columns(op, 16, 512); }), HasSubstr("multiples of 32"));
  EXPECT_THAT(message_of([&] { slice_columns(op, 0, 544); }), HasSubstr("0..544 of 512"));
  EXPECT_THAT(message_of([&] { slice_columns(op, 64, 64); }), HasSubstr("does not fit"));
  op.w.format = packed_format(StorageType::q4_k);
  EXPECT_THAT(message_of([&] { slice_columns(op, 32, 512); }), HasSubstr("multiples of 256"));
  EXPECT_EQ(slice_columns(op, 256, 512).columns(), 256);
  EXPECT_THAT(message_of([&] { slice_columns(slice_columns(op, 0, 256), 0, 256); }), HasSubstr("does not fit"));
}

}  // namespace
}  // namespace tandem
