#include "engine/run/choice/probe.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "engine/plan/schedule.h"

namespace tandem {
namespace {

constexpr double kProbeFlops = 1e8, kLongSeconds = 20e-3;
constexpr int kRuns = 4;

// The time that the device measured, or the run's wall time if it measures nothing.
double run_seconds(Executor& executor, PreparedPlan& prepared) {
  PassSpans spans;
  const double seconds = executor.run(prepared, &spans);
  double measured = 0;
  for (const StepSpan& span : spans.front()) measured += span.end_seconds - span.start_seconds;
  return measured > 0 ? measured : seconds;
}

}  // namespace

// Takes the largest matmul of any layer, and of it so many rows that the work is about kProbeFlops. The work is then
// short even on a slow device.
std::optional<Operator> probe_of(std::span<const Operator> operators) {
  const Operator* largest = nullptr;
  for (const Operator& op : operators) {
    const auto* matmul = std::get_if<MatMul>(&op.body);
    if (matmul == nullptr || matmul->decides || op.layer < 0) continue;
    if (largest == nullptr || matmul->flops() > std::get<MatMul>(largest->body).flops()) largest = &op;
  }
  if (largest == nullptr) return std::nullopt;
  const auto& whole = std::get<MatMul>(largest->body);
  const double flops_of_a_row = whole.flops() / static_cast<double>(whole.row_end - whole.row_begin);
  const int64_t panels = std::max<int64_t>(1, static_cast<int64_t>(kProbeFlops / flops_of_a_row) / kPanelRows);
  const int64_t end = std::min(whole.row_end, whole.row_begin + panels * kPanelRows);
  return with_body(*largest, slice_rows(whole, whole.row_begin, end));
}

// The shortest of several runs shows what the device can do. The first run touches new memory, and drivers compile
// programs in it. In any other run this thread or the device's may lose its core.
void probe_unknown(std::span<const std::unique_ptr<Device>> devices, const Operator& probe, Executor& executor,
                   MachineRates& rates) {
  for (size_t d = 0; d < devices.size(); ++d) {
    if (rates.knows(d) || !devices[d]->supports(probe).yes) continue;
    const std::string& id = devices[d]->info().id;
    const auto prepared = executor.prepare(schedule("probe", {id}, {{0, probe}}));
    double seconds = run_seconds(executor, *prepared), spent = seconds;
    for (int run = 1; run < kRuns && spent < kLongSeconds; ++run) {
      const double again = run_seconds(executor, *prepared);
      seconds = std::min(seconds, again), spent += again;
    }
    spdlog::debug("a first look at {}: {:.3f} ms", id, seconds * 1e3);
    rates.learn_alone(d, probe, seconds);
  }
}

}  // namespace tandem
