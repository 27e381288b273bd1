// The profiler on the host device and the NPU, without a driver. The tests only check that its measurements
// are positive.
#include "engine/measure/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/device/host/host_device.h"
#include "engine/device/npu/npu_device.h"
#include "engine/measure/cold_run.h"
#include "engine/measure/profile_grid.h"
#include "engine/plan/prediction/matmul_point.h"
#include "sync/error.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

TEST(ProfileGrid, has_the_npus_sizes_and_for_others_those_between_too) {
  EXPECT_THAT(grid_tokens(64, {.static_graphs = true}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64));
  EXPECT_THAT(grid_tokens(40, {}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32));
  EXPECT_THAT(grid_tokens(100, {.quick = true}), ElementsAre(1, 8, 32));
  EXPECT_THAT(grid_tokens(0, {}), ElementsAre());
}

TEST(ProfileGrid, cuts_rows_into_whole_panels) {
  EXPECT_THAT(grid_rows(1024, false), ElementsAre(1024, 512, 256, 128));
  EXPECT_THAT(grid_rows(576, false), ElementsAre(576, 256, 128, 64)) << "9 panels: 4, 2, 1";
  EXPECT_THAT(grid_rows(1024, true), ElementsAre(1024, 512));
  EXPECT_THAT(grid_rows(70, false), ElementsAre(70, 64));
  EXPECT_THAT(grid_rows(64, false), ElementsAre(64)) << "there is no half of a panel";
}

TEST(Spread, is_the_median_and_both_ends) {
  const MeasuredSeconds odd = spread_of({5, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.least, 1);
  EXPECT_EQ(odd.most, 5);
  EXPECT_EQ(odd.samples, 3);
  EXPECT_EQ(spread_of({4, 1, 2, 8}).median, 2) << "one that was measured";
  EXPECT_EQ(spread_of({}).samples, 0);
}

class Profiling : public ::testing::Test {
 protected:
  static constexpr int64_t kTokens = 64, kK = 64, kN = 256, kNarrow = 128;

  Profiling() {
    for (int i = 0; i < 2; ++i) operators_.push_back({"wide", matmul(kN, slot(kTokens * kN))});
    operators_.push_back({"narrow", matmul(kNarrow, slot(kTokens * kNarrow))});
    operators_.push_back({"add", Add{4, kK, x_, x_, kK, kK}});
  }

  static std::vector<std::unique_ptr<Device>> both_devices() {
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(open_host_device(0, {}));
    devices.push_back(open_npu_device(0, {}));
    return devices;
  }
  Operand slot(int64_t floats) {
    return {&pool_.acquire(static_cast<size_t>(floats) * 4, sync::SlotUse::activations, "profiled"), 0};
  }
  MatMul matmul(int64_t rows, const Operand& y) {
    MatMul op;
    op.S = 4;
    op.K = op.x_stride = kK;
    op.row_end = op.y_stride = rows;
    const PackedFormat format = packed_format(StorageType::f16);
    op.w = {format, rows, kK, {&pool_.acquire(packed_bytes(format, rows, kK), sync::SlotUse::weights, "w"), 0}};
    op.x = x_;
    op.y = y;
    return op;
  }
  Measurer measurer() { return {executor_, cache_}; }
  const DeviceInfo& npu() const { return devices_[1]->info(); }
  const MatMul& wide() const { return std::get<MatMul>(operators_[0].body); }
  void know(int64_t S, int64_t rows, double seconds, bool both = false) {
    store_point(cache_, npu(), {"f16", S, kK, rows, both}, {seconds, seconds, seconds, 1});
  }
  double measured(int64_t S) {
    return measurer().matmul(*devices_[1], {"f16", S, kK, kN, false}, by_matrix(operators_)[0]).least;
  }

  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("measured.json");
  sync::Pool pool_;
  const Operand x_ = slot(kTokens * kK);
  std::vector<std::unique_ptr<Device>> devices_ = both_devices();
  std::vector<Operator> operators_;
  DiskCache cache_{path_};
  Executor executor_{
      pool_, {devices_[0].get(), devices_[1].get()}, {sync::Policy::blocking, std::chrono::seconds(60), {}}};
};

TEST_F(Profiling, knows_how_many_tokens_the_buffers_hold) {
  EXPECT_EQ(most_tokens(wide()), kTokens);
  MatMul last = wide();
  last.y = last.y.advanced(static_cast<size_t>(last.y_stride) * 4 * 60);  // room for 4 rows is left
  EXPECT_EQ(most_tokens(last), 4);
  last.y = {};
  EXPECT_EQ(most_tokens(last), 0);
}

TEST_F(Profiling, groups_matmuls_by_their_weights) {
  const auto groups = by_matrix(operators_);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].size(), 2u);
  EXPECT_EQ(groups[1].front().w.rows, kNarrow);
  EXPECT_EQ(other_kinds(operators_).size(), 1u);
}

TEST_F(Profiling, keeps_points_by_device_with_all_that_they_depend_on) {
  know(8, 256, 3e-6);
  know(8, 256, 4e-6, true);
  cache_.set(measurement_key(npu()) + "|f16 S8 K64 N256", 1e-6);  // the key of an older version
  store_point(cache_, devices_[0]->info(), {"f16", 1, kK, 64, false}, {1, 1, 1, 1});
  cache_.save();
  const DiskCache again(path_);
  const auto points = stored_points(again, npu());
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].point, (MatMulPoint{"f16", 8, kK, 256, false}));
  EXPECT_EQ(points[0].seconds, 3e-6);
  EXPECT_TRUE(points[1].point.both);
  EXPECT_EQ(stored_seconds(again, measurement_key(npu()) + "|f16 S8 K64 N256")->least, 1e-6);
  EXPECT_THAT(key_of(npu(), points[1].point), ::testing::MatchesRegex("npu:0\\|.*\\|matmul f16 S8 K64 rows 256 both"));
}

// 8 heads of 64 values need as many multiplications and as many bytes as 4 heads of 128.
TEST_F(Profiling, tells_attention_with_other_heads_apart) {
  Attention many;
  many.S = 1;
  many.heads = 8;
  many.positions = slot(1);
  many.positions.as<int32_t>()[0] = 100;
  many.cache = kv_cache(KvType::f16, 8, 64, 64, 256);
  Attention wide = many;
  wide.heads = 4;
  wide.cache = kv_cache(KvType::f16, 4, 128, 128, 256);
  EXPECT_EQ(work({"many", many}).flops, work({"wide", wide}).flops);
  EXPECT_EQ(work({"many", many}).bytes, work({"wide", wide}).bytes);
  EXPECT_NE(Measurer::other_key(*devices_[0], {"many", many}), Measurer::other_key(*devices_[0], {"wide", wide}));
}

TEST(looks_slowed, is_what_takes_longer_than_twice_its_half_or_than_twice_the_tokens) {
  EXPECT_FALSE(looks_slowed(2.1, 1, {})) << "a tenth is noise";
  EXPECT_TRUE(looks_slowed(2.3, 1, {}));
  EXPECT_FALSE(looks_slowed(1.05, {}, 1));
  EXPECT_TRUE(looks_slowed(1.2, 0.9, 1));
  EXPECT_FALSE(looks_slowed(1e9, {}, {})) << "nothing is known";
}

TEST_F(Profiling, a_point_measures_what_it_shows_to_be_slowed_again) {
  know(16, 256, 1000);
  EXPECT_LT(measured(32), 1);
  EXPECT_LT(measured(16), 1) << "16 tokens do not take longer than 32";
  know(64, 256, 1000);
  EXPECT_EQ(measured(64), 1000) << "known; nothing new shows it";
}

TEST_F(Profiling, a_second_run_measures_only_what_is_missing) {
  int runs = 0;
  std::vector<ProfileTask> tasks;
  for (int i = 0; i < 5; ++i) {
    const std::string key = "point " + std::to_string(i);
    ProfileTask& task = tasks.emplace_back();
    task.key = task.row.shape = key;
    task.measure = [&, key] {
      ++runs;
      const MeasuredSeconds seconds{1.0 * runs, 1.0 * runs, 1.0 * runs, 1};
      store_seconds(cache_, key, seconds);
      return seconds;
    };
  }
  ProfileRun interrupted;
  interrupted.interrupted = [&] { return runs == 2; };
  const Profile part = run_profile(tasks, cache_, interrupted);
  EXPECT_TRUE(part.interrupted);
  EXPECT_EQ(part.measured, 2);
  EXPECT_EQ(part.rows.size(), 2u);

  DiskCache next(path_);  // the file when the process has ended
  EXPECT_EQ(stored_seconds(next, "point 1")->median, 2);
  EXPECT_FALSE(stored_seconds(next, "point 2"));
  std::vector<std::pair<int64_t, int64_t>> progress;
  ProfileRun on;
  on.progress = [&](int64_t done, int64_t total) { progress.emplace_back(done, total); };
  const Profile rest = run_profile(tasks, cache_, on);
  EXPECT_EQ(rest.known, 2);
  EXPECT_EQ(rest.measured, 3);
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(progress.back(), (std::pair<int64_t, int64_t>{5, 5}));

  ProfileRun again;
  again.again = true;
  EXPECT_EQ(run_profile(tasks, cache_, again).measured, 5);
  EXPECT_EQ(runs, 10);
  EXPECT_EQ(stored_seconds(DiskCache(path_), "point 0")->median, 6);
}

// A measurement first looks for a known value. If the profiler must measure again, it must find none.
TEST_F(Profiling, measures_anew_what_it_is_asked_to_measure_again) {
  store_seconds(cache_, "point", {7, 7, 7, 1});
  ProfileTask task;
  task.key = "point";
  task.measure = [&] {
    if (const auto known = stored_seconds(cache_, "point")) return *known;
    const MeasuredSeconds seconds{1, 1, 1, 1};
    store_seconds(cache_, "point", seconds);
    return seconds;
  };
  ProfileRun again;
  again.again = true;
  EXPECT_EQ(run_profile(std::vector{task}, cache_, again).rows.at(0).seconds.median, 1);
}

TEST_F(Profiling, measures_every_point_that_a_device_runs_alone_and_beside_another) {
  auto tasks = matmul_tasks(measurer(), devices_, operators_, {.quick = true, .effort = {3, 256}});
  for (ProfileTask& task : other_tasks(measurer(), devices_, operators_, 0, {.quick = true, .effort = {3, 256}}))
    tasks.push_back(std::move(task));
  const Profile profile = run_profile(tasks, cache_, {});
  // There are 256, 128 and 64 rows; a half of 256 is all of 128. Each has 1, 8 and 32 tokens, and 1 token beside
  // another device, on 2 devices. One row is Add on the host.
  ASSERT_EQ(profile.rows.size(), 3u * 4 * 2 + 1);
  for (const ProfileRow& row : profile.rows) {
    EXPECT_GT(row.seconds.least, 0) << row.shape;
    EXPECT_LE(row.seconds.least, row.seconds.median);
    EXPECT_LE(row.seconds.median, row.seconds.most);
  }
  EXPECT_EQ(matmul_points(profile.rows, "npu:0").size(), 12u);
  EXPECT_EQ(stored_points(cache_, npu()).size(), 12u);
  EXPECT_EQ(run_profile(tasks, cache_, {}).measured, 0);
}

TEST_F(Profiling, few_tokens_are_timed_after_the_rest_of_the_pass) {
  const auto rest = rest_of_pass(*devices_[1], operators_, &wide());
  ASSERT_EQ(rest.size(), 1u) << "neither the two matrices that are timed nor what is no matmul";
  EXPECT_EQ(rest[0].name, "narrow");
  EXPECT_EQ(std::get<MatMul>(rest[0].body).S, 1);
  EXPECT_EQ(rest_of_pass(*devices_[1], operators_, nullptr).size(), 3u);
  EXPECT_GT(measurer().matmul(*devices_[1], {"f16", 1, kK, kN, false}, by_matrix(operators_)[0], operators_).least, 0);
  const auto add = measurer().other(*devices_[0], operators_[3], operators_, {3, 256});
  EXPECT_GT(add.least, 0);
  EXPECT_EQ(add.samples, 3);
}

TEST(ColdRun, times_from_the_first_operators_start_to_the_last_ones_end_on_its_device) {
  Timeline timeline;
  const auto span = [&](const char* device, SpanKind kind, double start, double end) {
    Span span;
    span.start_seconds = start;
    span.end_seconds = end;
    span.kind = kind;
    span.device = device;
    timeline.add(span);
  };
  span("npu:0", SpanKind::wait, 1, 2);
  span("npu:0", SpanKind::matmul, 2, 5);
  span("npu:0", SpanKind::matmul, 6, 9);
  span("opencl:0", SpanKind::matmul, 1, 20);
  EXPECT_EQ(seconds_on(timeline, "npu:0"), 7);
  EXPECT_EQ(seconds_on(timeline, "host"), 0);
}

TEST_F(Profiling, measuring_is_no_part_of_what_is_recorded) {
  Timeline timeline;
  executor_.record(&timeline);
  measurer().matmul(*devices_[1], {"f16", 2, kK, kN, false}, by_matrix(operators_)[0]);
  EXPECT_TRUE(timeline.spans().empty());
  EXPECT_EQ(executor_.record(nullptr), &timeline);
}

TEST_F(Profiling, refuses_points_that_the_buffers_cannot_hold) {
  const auto same = by_matrix(operators_)[0];
  EXPECT_THROW(measurer().matmul(*devices_[1], {"f16", kTokens + 1, kK, kN, false}, same), Error);
}

}  // namespace
}  // namespace tandem
