#include "engine/run/calibrate.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

constexpr int kTurns = 64, kSamples = 15;

// `turns` times a step on each device, every one waiting for the one before.
Plan in_turn(std::vector<std::string> devices, int turns, const Operator& op) {
  const int count = static_cast<int>(devices.size());
  Plan plan{"measure", std::move(devices), {}, {}};
  for (int i = 0; i < turns * count; ++i) {
    Step step{i % count, {op}, {}, true};
    if (count > 1 && i > 0) step.waits = {i - 1};
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

double least_seconds(Executor& executor, Plan plan) {
  const auto prepared = executor.prepare(std::move(plan));
  executor.run(*prepared);  // compiles
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kSamples; ++i) least = std::min(least, executor.run(*prepared));
  return least;
}

}  // namespace

MachineMeasurements measurements_of(std::span<const ProfileRow> rows, const std::string& gpu, const std::string& npu) {
  MachineMeasurements measured;
  measured.gpu = matmul_points(rows, gpu);
  measured.npu = matmul_points(rows, npu);
  measured.kernel_seconds = std::numeric_limits<double>::infinity();
  for (const ProfileRow& row : rows) {
    if (row.device != gpu) continue;
    if (row.kind == "attention" && row.S > 1) measured.attention.push_back({row.flops, row.seconds.least});
    if (row.S == 1) measured.kernel_seconds = std::min(measured.kernel_seconds, row.seconds.least);
  }
  if (measured.kernel_seconds == std::numeric_limits<double>::infinity())
    throw Error("nothing was measured on the device", gpu, "Name a device that runs single tokens");
  return measured;
}

double measure_crossing(Executor& executor, Device& gpu, Device& npu, const MatMul& op) {
  MatMul tiny = slice_rows(op, op.row_begin, std::min(op.row_end, op.row_begin + kPanelRows));
  tiny.S = 1;
  const Operator step{"tiny", tiny};
  const std::string &on_gpu = gpu.info().id, &on_npu = npu.info().id;
  const double both = least_seconds(executor, in_turn({on_gpu, on_npu}, kTurns, step));
  const double alone = least_seconds(executor, in_turn({on_gpu}, kTurns, step)) +
                       least_seconds(executor, in_turn({on_npu}, kTurns, step));
  return std::max(0.0, both - alone) / (2 * kTurns - 1);
}

}  // namespace tandem
