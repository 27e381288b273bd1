#include "engine/measure/calibrate.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/measure/cold_run.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/run/pass/timeline.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr int kSamples = 15;
constexpr int kGpu = 0, kNpu = 1;

// A single-token operator other than matmul and attention: its time is about that of a launch.
bool is_small(const ProfileRow& row) { return row.S == 1 && row.matmul.S == 0 && !row.attention; }

struct CutMatMul {
  Operator gpu, npu;
};

// Cuts the matmuls of a pass that both devices support. Matmuls with fewer tokens than the pass are left out (the
// output's, of one token among many).
std::vector<CutMatMul> cut_matmuls(const Device& gpu, const Device& npu, std::span<const Operator> pass) {
  const int64_t tokens = tokens_of(pass.front());
  std::vector<CutMatMul> cut;
  for (const Operator& op : pass) {
    const auto* matmul = std::get_if<MatMul>(&op.body);
    if (!matmul || matmul->S != tokens || !gpu.supports(op).yes || !npu.supports(op).yes) continue;
    const int64_t panels = panel_count(matmul->row_end - matmul->row_begin);
    const int64_t middle = matmul->row_begin + panels / 2 * kPanelRows;
    if (middle == matmul->row_begin) continue;
    cut.push_back({with_body(op, slice_rows(*matmul, matmul->row_begin, middle)),
                   with_body(op, slice_rows(*matmul, middle, matmul->row_end))});
  }
  return cut;
}

Operator norm_of(const Device& gpu, std::span<const Operator> pass) {
  for (const Operator& op : pass)
    if (std::holds_alternative<RmsNorm>(op.body) && gpu.supports(op).yes) return op;
  throw Error("a pass without a norm on the GPU", gpu.info().id, "Take another model or device");
}

double weight_bytes_of(const std::vector<Operator>& operators) {
  double bytes = 0;
  for (const Operator& op : operators) bytes += weight_bytes(point_of(std::get<MatMul>(op.body)));
  return bytes;
}

// Measures what a hand-over between GPU and NPU costs, as a difference of two runs. In one, the parts of all cut
// products run in turn, each side waiting for the other. In the other they run side by side without waits.
// The first run also has one norm per matmul, which makes the sides wait. Its time is subtracted: it is the difference
// between a list of 2 n norms and one of n.
class Chain {
 public:
  // Prepares four plans. in_turn_ has three steps per matmul: norm (GPU), the NPU's part, the GPU's part. The norm
  // waits for the NPU's part before it, and the NPU's part waits for the norm. beside_ has both lists without waits,
  // and norms_ has the norms alone.
  Chain(Executor& executor, Device& gpu, Device& npu, std::span<const Operator> pass)
      : executor_(executor), gpu_(gpu.info().id), npu_(npu.info().id) {
    const std::vector<CutMatMul> cut = cut_matmuls(gpu, npu, pass);
    if (cut.empty()) throw Error("no matmul runs on both devices", gpu_ + ", " + npu_, "Name others with --device");
    const Operator norm = norm_of(gpu, pass);
    count_ = cut.size();
    std::vector<Operator> on_gpu, on_npu;
    Plan in_turn{"measure", {gpu_, npu_}, {}, {}};
    for (const CutMatMul& matmul : cut) {
      on_gpu.push_back(matmul.gpu);
      on_npu.push_back(matmul.npu);
      const int first = static_cast<int>(in_turn.steps.size());
      in_turn.steps.push_back({kGpu, {norm}, {}, true});
      if (first > 0) in_turn.steps.back().waits = {first - 2};  // the NPU's part of the matmul before
      in_turn.steps.push_back({kNpu, {matmul.npu}, {first}, true});
      in_turn.steps.push_back({kGpu, {matmul.gpu}, {}, true});
    }
    gpu_bytes_ = weight_bytes_of(on_gpu);
    npu_bytes_ = weight_bytes_of(on_npu);
    in_turn_ = executor.prepare(std::move(in_turn));
    beside_ = executor.prepare(
        {"measure", {gpu_, npu_}, {{kGpu, std::move(on_gpu), {}, true}, {kNpu, std::move(on_npu), {}, true}}, {}});
    for (const size_t times : {count_, 2 * count_})
      norms_.push_back(executor.prepare({"measure", {gpu_}, {{kGpu, std::vector(times, norm), {}, true}}, {}}));
  }

  // In every sample the four plans run after each other, so that a slow phase of the machine meets all of them.
  CutChain measure() {
    for (PreparedPlan* plan : {in_turn_.get(), beside_.get(), norms_[0].get(), norms_[1].get()})
      executor_.run(*plan);  // compiles
    std::vector<double> joins, rates;
    Timeline warm_up;
    recorded(warm_up);
    for (int i = 0; i < kSamples; ++i) {
      const double norms = -executor_.run(*norms_[0]) + executor_.run(*norms_[1]);
      const double apart = executor_.run(*beside_);
      joins.push_back(executor_.run(*in_turn_) - apart - norms);
      Timeline timeline;
      const double whole = recorded(timeline);
      rates.push_back(gpu_bytes_ / seconds_or(whole, seconds_on(timeline, gpu_)) +
                      npu_bytes_ / seconds_or(whole, seconds_on(timeline, npu_)));
    }
    return {median(std::move(rates)), std::max(0.0, median(std::move(joins))) / static_cast<double>(count_)};
  }

 private:
  // A device without recorded spans counts with the whole run.
  static double seconds_or(double whole, double own) { return own > 0 ? own : whole; }

  double recorded(Timeline& timeline) {
    Timeline* const before = executor_.record(&timeline);
    const double seconds = executor_.run(*beside_);
    executor_.record(before);
    return seconds;
  }

  Executor& executor_;
  std::string gpu_, npu_;
  size_t count_ = 0;
  double gpu_bytes_ = 0, npu_bytes_ = 0;
  std::unique_ptr<PreparedPlan> in_turn_, beside_;
  std::vector<std::unique_ptr<PreparedPlan>> norms_;  // n and 2 n norms for n matmuls
};

}  // namespace

// The least time of each row counts, because other processes only ever add time.
MachineMeasurements measurements_of(std::span<const ProfileRow> rows, const std::string& gpu, const std::string& npu) {
  MachineMeasurements measured;
  measured.gpu = matmul_points(rows, gpu);
  measured.npu = matmul_points(rows, npu);
  std::vector<double> small;
  for (const ProfileRow& row : rows) {
    if (row.device != gpu) continue;
    if (row.attention)
      (row.S > 1 ? measured.attention : measured.token_attention).push_back({row.flops, row.seconds.least});
    if (is_small(row)) small.push_back(row.seconds.least);
  }
  if (small.empty()) throw Error("nothing was measured on the device", gpu, "Name a device that runs single tokens");
  measured.kernel_seconds = median(std::move(small));
  return measured;
}

CutChain measure_cut_chain(Executor& executor, Device& gpu, Device& npu, std::span<const Operator> pass) {
  return Chain(executor, gpu, npu, pass).measure();
}

}  // namespace tandem
