#include "engine/plan/model_clock/machine_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/plan/model_clock/processor_time.h"
#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

constexpr double kGpuFlops = 2e11, kGpuBytes = 2e10, kNpuBytes = 3e10, kShared = 4e10;
constexpr double kClock = 4e9;

// f16 has two bytes a weight. The S (K + rows) activations have 4 bytes each.
double bytes(int64_t S, int64_t K, int64_t rows) { return 2.0 * K * rows + 4.0 * S * (K + rows); }

// A machine that follows the model exactly:
//   GPU     2 S K rows / 2e11 of many tokens, bytes / 2e10 of one
//   NPU     32 cells of one multiply-add a cycle; a fold is one token and one of K, and takes rows + 1 cycles; so
//           ceil(S K / 32) (rows + 1) - 1 cycles at 4 GHz of many tokens, bytes / 3e10 of one
MachineMeasurements exact_machine() {
  MachineMeasurements m;
  m.machine = "a machine";
  m.date = "2000-01-01";
  for (const auto& [K, rows] : {std::pair<int64_t, int64_t>{64, 128}, {128, 64}, {256, 256}}) {
    m.gpu.push_back({{"f16", 1, K, rows, false}, bytes(1, K, rows) / kGpuBytes});
    m.gpu.push_back({{"f16", 1, K, rows, true}, 1});   // beside the other device: not used
    m.gpu.push_back({{"f16", 8, K, rows, false}, 1});  // neither many tokens nor one: not used
    m.npu.push_back({{"f16", 1, K, rows, false}, bytes(1, K, rows) / kNpuBytes});
    for (const int64_t S : {32, 128}) {
      m.gpu.push_back({{"f16", S, K, rows, false}, 2.0 * S * K * rows / kGpuFlops});
      m.npu.push_back({{"f16", S, K, rows, false}, ((S * K / 32) * (rows + 1) - 1) / kClock});
    }
  }
  m.attention = {{3e9, 0.03}, {6e9, 0.06}};  // 1e11
  m.token_attention = {{1e9, 0.02}};         // 5e10
  m.kernel_seconds = 2e-6;
  m.shared_bytes_per_second = kShared;
  m.token_join_seconds = 6e-6;    // two crossings of 3 us
  m.prompt_join_seconds = 10e-6;  // 4 us more
  m.npu_graph_tokens = {1, 2, 4, 8, 32, 64};
  return m;
}

// q is 10 / 1 and 10 / 2, and the rate is (100 + 25) / (10 + 5) = 25 / 3. The error of a point is q / r - 1. The errors
// are 0.2 and -0.4, and their squares sum to 0.2. The mean 7.5 has the errors 0.333 and -0.333, with squares of 0.222.
TEST(MachineProfile, rates_have_the_least_squared_relative_errors) {
  const Timed points[] = {{10, 1}, {10, 2}};
  EXPECT_DOUBLE_EQ(least_squares_rate(points, "points"), 25.0 / 3);
}

TEST(MachineProfile, a_rate_without_points_says_of_what) {
  try {
    least_squares_rate({}, "matmuls on the moon");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("matmuls on the moon"));
  }
  MachineMeasurements none = exact_machine();
  none.npu.clear();
  EXPECT_THROW(machine_profile(none), Error);
}

TEST(MachineProfile, finds_the_constants_of_a_machine_that_follows_the_model) {
  const SocProfile p = machine_profile(exact_machine());
  const auto near = [](double value, double expected) { EXPECT_NEAR(value / expected, 1, 1e-9) << expected; };
  near(p.gpu.flops, kGpuFlops);
  near(p.gpu.attention_flops, 1e11);
  near(p.gpu.decode_attention_flops, 5e10);
  near(p.gpu.bytes_per_second, kGpuBytes);
  near(p.gpu.submit_seconds, 2e-6);
  near(p.npu.bytes_per_second, kNpuBytes);
  near(p.npu.clock_hz, kClock);
  near(p.memory.shared_bytes_per_second, kShared);
  near(p.sync.fast_seconds, 3e-6);
  near(p.gpu.submit_empty_seconds, 4e-6);
  EXPECT_THAT(p.npu.graph_tokens, ::testing::ElementsAre(32, 64));
  EXPECT_EQ(p.npu.decode_tokens, 8);
  EXPECT_TRUE(p.joined_matmuls);
}

TEST(MachineProfile, gives_back_the_times_that_it_was_made_of) {
  const MachineMeasurements machine = exact_machine();
  const SocProfile p = machine_profile(machine);
  for (const MeasuredPoint& measured : machine.npu) {
    const MatMulPoint& point = measured.point;
    if (point.both) continue;
    MatMul op;
    op.S = point.S;
    op.K = point.K;
    op.row_end = point.rows;
    op.w = {packed_format(StorageType::f16), point.rows, point.K, {}};
    EXPECT_NEAR(npu_time(p, op).total() / measured.seconds, 1, 1e-5) << to_string(point);
  }
}

// The other round has twice the times of the exact machine. The average is one and a half times its times.
TEST(MachineProfile, rounds_are_averaged) {
  MachineMeasurements slow = exact_machine();
  for (auto* points : {&slow.gpu, &slow.npu})
    for (MeasuredPoint& point : *points) point.seconds *= 2;
  for (auto* points : {&slow.attention, &slow.token_attention})
    for (Timed& point : *points) point.seconds *= 2;
  slow.kernel_seconds *= 2;
  slow.token_join_seconds *= 2;
  const MachineMeasurements rounds[] = {exact_machine(), slow};
  const SocProfile p = machine_profile(mean_of(rounds));
  const auto near = [](double value, double expected) { EXPECT_NEAR(value / expected, 1, 1e-9) << expected; };
  near(p.gpu.flops, kGpuFlops / 1.5);
  near(p.gpu.decode_attention_flops, 5e10 / 1.5);
  near(p.gpu.submit_seconds, 3e-6);
  near(p.npu.clock_hz, kClock / 1.5);
  near(p.memory.shared_bytes_per_second, kShared);
  near(p.sync.fast_seconds, 4.5e-6);
  slow.npu.pop_back();
  const MachineMeasurements others[] = {exact_machine(), slow};
  EXPECT_THROW(mean_of(others), Error);
}

TEST(MachineProfile, joining_several_tokens_for_less_than_one_costs_nothing_more) {
  MachineMeasurements machine = exact_machine();
  machine.prompt_join_seconds = 5e-6;
  EXPECT_EQ(machine_profile(machine).gpu.submit_empty_seconds, 0);
}

TEST(MachineProfile, is_read_back_as_it_was_written_with_a_source_for_every_key) {
  const SocProfile p = machine_profile(exact_machine());
  const SocProfile again = parse_soc_profile(to_json(p), "written");
  EXPECT_EQ(to_json(again), to_json(p));
  EXPECT_TRUE(again.joined_matmuls);
  for (const auto& [key, source] : again.sources) EXPECT_FALSE(source.empty()) << key;
  EXPECT_THAT(again.sources.at("gpu.flops"), HasSubstr("measured"));
  EXPECT_THAT(again.sources.at("gpu.flops"), HasSubstr("a machine, 2000-01-01"));
}

TEST(MachineProfile, phones_keep_their_matmuls_separate) {
  const SocProfile phone = soc_profile("snapdragon-8gen3");
  EXPECT_FALSE(phone.joined_matmuls);
  EXPECT_EQ(to_json(phone).find("joined_matmuls"), std::string::npos);
}

}  // namespace
}  // namespace tandem
