#include "engine/measure/matmul_timer.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/measure/cold_run.h"
#include "engine/measure/profile_grid.h"
#include "engine/plan/prediction/matmul_point.h"
#include "sync/error.h"

namespace tandem {
namespace {

// A sample of about two milliseconds at 25 GB/s.
constexpr double kBytesPerSample = 48e6;
// A sample that takes longer than this many seconds is taken only kFewSamples times.
constexpr double kLongSample = 20e-3;
constexpr int kFewSamples = 3;
// The other device's work, as a multiple of one sample. It must last until the timed part has ended, even where the
// timed device has half the speed.
constexpr double kLongerBeside = 2.5;

// With more tokens arithmetic dominates: each token counts as a quarter of one reading of the weights.
int64_t operators_per_sample(const MatMulPoint& point, const Effort& effort) {
  const double each = weight_bytes(point) * std::max(1.0, static_cast<double>(point.S) / 4);
  return std::clamp(static_cast<int64_t>(kBytesPerSample / each) + 1, int64_t{1}, effort.most_operators);
}

// Every slice of point.rows rows of every matrix of the shape.
std::vector<MatMul> slices(const MatMulPoint& point, SameMatMuls same) {
  std::vector<MatMul> all;
  for (MatMul op : same) {
    op.S = point.S;
    for (int64_t begin = op.row_begin; begin + point.rows <= op.row_end; begin += point.rows)
      all.push_back(slice_rows(op, begin, begin + point.rows));
  }
  TANDEM_CHECK(!all.empty(), "a point has no more rows than the matrices it is measured on");
  return all;
}

// Operators [first, first + count) of the endless repetition of all slices.
std::vector<Operator> window(const std::vector<MatMul>& all, int64_t first, int64_t count) {
  std::vector<Operator> operators;
  for (int64_t i = first; i < first + count; ++i)
    operators.push_back({"measured", all[static_cast<size_t>(i) % all.size()]});
  return operators;
}

void check_point(const MatMulPoint& point, SameMatMuls same) {
  TANDEM_CHECK(!same.empty(), "a point is measured on some matrix");
  if (point.S > most_tokens(same.front())) {
    throw Error("the buffers are too small to measure a matmul", to_string(point),
                "They hold " + std::to_string(most_tokens(same.front())) + " tokens; ask for more with --chunk");
  }
}

}  // namespace

int64_t most_tokens(const MatMul& op) {
  if (!op.x || !op.y) return 0;
  const auto rows = [](const Operand& at, int64_t stride, int64_t width) {
    const auto left = static_cast<int64_t>((at.slot->size_bytes() - at.offset_bytes) / sizeof(float));
    return left < width ? 0 : (left - width) / stride + 1;
  };
  return std::min(rows(op.x, op.x_stride, op.K), rows(op.y, op.y_stride, op.row_end));
}

// Few tokens: one cold run over different slices. Otherwise samples follow each other through all slices, and one
// prepared plan per sample continues where the plan before ended. When one sample already covers all slices, a single
// plan is repeated.
MeasuredSeconds MatMulTimer::alone(Device& device, const MatMulPoint& point, SameMatMuls same) const {
  check_point(point, same);
  const std::vector<MatMul> all = slices(point, same);
  int64_t count = operators_per_sample(point, effort);
  if (point.S <= kMemoryBoundTokens && !pass.empty()) {
    count = std::min(count, static_cast<int64_t>(all.size()));
    const auto once = executor.prepare({"measure", {device.info().id}, {{0, window(all, 0, count), {}, true}}, {}});
    return cold(device, same, *once, count);
  }
  std::vector<std::unique_ptr<PreparedPlan>> prepared;
  const auto prepare = [&](int64_t first) {
    prepared.push_back(
        executor.prepare({"measure", {device.info().id}, {{0, window(all, first, count), {}, true}}, {}}));
  };
  prepare(0);
  executor.run(*prepared.front());  // compiles
  const int runs =
      executor.run(*prepared.front()) > kLongSample ? std::min(effort.samples, kFewSamples) : effort.samples;
  const bool all_at_once = static_cast<int64_t>(all.size()) <= count;
  for (int i = 1; i < runs && !all_at_once; ++i) prepare(i * count);
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i)
    seconds.push_back(executor.run(*prepared[static_cast<size_t>(i) % prepared.size()]) / static_cast<double>(count));
  return spread_of(std::move(seconds));
}

// Two steps without dependencies run side by side, one for each device. Only the spans of `device` are timed, and
// kLongerBeside keeps the other device busy for all of them.
MeasuredSeconds MatMulTimer::beside(Device& device, const MatMulPoint& point, SameMatMuls same, Device& other,
                                    SameMatMuls others) const {
  check_point(point, same);
  const std::vector<MatMul> all = slices(point, same);
  MatMulPoint at_other = point_of(others.front());
  at_other.S = std::min(point.S, most_tokens(others.front()));
  const std::vector<MatMul> all_others = slices(at_other, others);
  const int64_t count = std::min(operators_per_sample(point, effort), static_cast<int64_t>(all.size()));
  const auto count_beside =
      static_cast<int64_t>(kLongerBeside * static_cast<double>(operators_per_sample(at_other, effort))) + 1;
  // No step waits for another: both devices begin at once.
  const auto prepared =
      executor.prepare({"measure",
                        {device.info().id, other.info().id},
                        {{0, window(all, 0, count), {}, true}, {1, window(all_others, 0, count_beside), {}, true}},
                        {}});
  return cold(device, same, *prepared, count);
}

// Times one prepared plan several times. Before each run the rest of the pass is read, so that its own weights are
// in no cache.
MeasuredSeconds MatMulTimer::cold(Device& device, SameMatMuls same, PreparedPlan& timed, int64_t count) const {
  ColdRun run(executor, device, rest_of_pass(device, pass, &same.front()));
  run.seconds(timed);  // compiles
  std::vector<double> seconds;
  for (int i = 0; i < effort.samples; ++i) seconds.push_back(run.seconds(timed) / static_cast<double>(count));
  return spread_of(std::move(seconds));
}

}  // namespace tandem
