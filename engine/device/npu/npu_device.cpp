#include "engine/device/npu/npu_device.h"

#include <unistd.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <utility>

#include "engine/device/litmus_agents.h"
#include "engine/device/npu/npu_program.h"
#include "engine/device/npu/npu_support.h"
#include "engine/device/thread_probe.h"
#include "npu_emu/queue.h"
#include "npu_emu/self_test.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/waiter.h"

namespace tandem {

namespace {

// Longer than what other devices compute between two steps of this one.
constexpr std::chrono::seconds kWaitDeadline{60};

class NpuDevice final : public Device {
 public:
  NpuDevice(int index, const DeviceOptions& options);

  const DeviceInfo& info() const override { return info_; }
  Support supports(const Operator& op) const override { return npu_support(params_, op); }
  std::unique_ptr<Program> prepare(std::span<const Operator> operators) override {
    return std::make_unique<NpuProgram>(this, params_, operators);
  }
  void launch(Program& program, std::span<const sync::WaitFor> waits, sync::Signal signal) override;
  void batch(bool open) override { queue_.hold(open); }
  std::unique_ptr<LaunchSequence> sequence(std::vector<PlannedLaunch> launches) override {
    for (const PlannedLaunch& planned : launches) own(*planned.program);
    return Device::sequence(std::move(launches));
  }
  void launch_all(const LaunchSequence& sequence, uint32_t base) override;
  Cost estimate(std::span<const Operator> operators) const override;
  void finish(std::chrono::milliseconds deadline) override;
  void record_spans(bool on) override;
  std::vector<DeviceSpan> take_spans() override;
  std::unique_ptr<SyncProbe> sync_probe(std::string_view policy, double work_seconds) override {
    require_policy(info_, policy);
    return make_thread_probe(info_.id, thread_queue(), policy, work_seconds);
  }
  std::unique_ptr<LitmusAgent> litmus_agent() override { return make_queue_litmus_agent(info_.id, thread_queue()); }
  ThreadQueue thread_queue() {
    return {[this](std::function<void()> job) { queue_.push([job = std::move(job)](npu_emu::Team&) { job(); }); },
            [this](std::chrono::milliseconds deadline) { return queue_.drain(deadline); }};
  }

 private:
  NpuProgram& own(Program& program) const;  // Error when another device prepared it
  void execute(npu_emu::Team& team, NpuProgram& program, std::span<const sync::WaitFor> waits, uint32_t base,
               const sync::Signal& signal);
  void run(npu_emu::Team& team, const NpuProgram& program);
  void await(NpuProgram& program, std::span<const sync::WaitFor> waits, uint32_t base);
  std::string failure() const;
  void fail(const std::string& message);
  void test_policies();

  npu_emu::NpuParams params_;
  DeviceInfo info_;
  std::string policy_, raiser_;           // raiser_: for the messages of waits
  std::unique_ptr<sync::Waiter> waiter_;  // the worker's; made on its thread, where its timer settings belong
  NpuProgram::Scratch scratch_;           // the worker's
  mutable std::mutex mutex_;              // of failure_ and spans_
  std::string failure_;
  std::atomic<bool> failed_ = false, recording_ = false;  // asked before every step
  std::vector<DeviceSpan> spans_;
  npu_emu::CommandQueue queue_;  // last: its worker uses everything above and ends first
};

NpuDevice::NpuDevice(int index, const DeviceOptions& options)
    : params_(options.npu_params.empty() ? npu_emu::NpuParams() : npu_emu::load_params(options.npu_params)),
      policy_(options.sync_policy),
      queue_(options.npu_cores) {
  const npu_emu::FastKernels& kernels = npu_emu::best_kernels();
  sync::make_waiter(policy_);  // an unknown policy is the caller's error, now and not on the worker
  info_.id = "npu:" + std::to_string(index);
  raiser_ = "that raises it (" + info_.id + " waits)";
  info_.name = params_.name + " " + std::to_string(params_.array.rows) + "x" + std::to_string(params_.array.cols) +
               " " + npu_emu::to_string(params_.dataflow);
  info_.driver = std::string("emulated, ") + kernels.name;
  info_.kind = DeviceKind::npu;
  info_.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  info_.max_allocation_bytes = params_.compiler.max_graph_bytes;
  info_.compute_units = queue_.threads();
  info_.cores = options.npu_cores;
  info_.zero_copy = true;
  info_.zero_copy_note = "the worker reads and writes the pool's own addresses";
  info_.fused_fma = npu_emu::fma_is_fused(kernels);
  info_.rounds_to_f16 = true;
  info_.static_graphs = true;
  info_.models_time = true;
  test_policies();
}

void NpuDevice::test_policies() {
  info_.policies = test_thread_policies(info_.id, thread_queue());
  if (!queue_.drain(std::chrono::milliseconds(10000)))
    throw Error("the NPU's worker does not answer", info_.id, "its core may be taken");
}

NpuProgram& NpuDevice::own(Program& program) const {
  auto* mine = dynamic_cast<NpuProgram*>(&program);
  if (mine == nullptr || mine->owner() != this) {
    throw Error("a program was launched on a device that did not prepare it", info_.id, "prepare it on this device");
  }
  return *mine;
}

void NpuDevice::launch(Program& program, std::span<const sync::WaitFor> waits, sync::Signal signal) {
  queue_.push([this, mine = &own(program), waits = std::vector<sync::WaitFor>(waits.begin(), waits.end()),
               signal](npu_emu::Team& team) { execute(team, *mine, waits, 0, signal); });
}

// One command for all: queueing a hundred costs the orchestrator, on this very core, more than many of them take.
void NpuDevice::launch_all(const LaunchSequence& sequence, uint32_t base) {
  if (sequence.launches().empty()) return;
  queue_.push([this, &sequence, base](npu_emu::Team& team) {
    for (const PlannedLaunch& planned : sequence.launches())
      execute(team, static_cast<NpuProgram&>(*planned.program), planned.waits, base,
              {planned.signal.flag, planned.signal.epoch + base});
  });
}

void NpuDevice::execute(npu_emu::Team& team, NpuProgram& program, std::span<const sync::WaitFor> waits, uint32_t base,
                        const sync::Signal& signal) {
  std::string broken = failure();
  if (broken.empty()) {
    try {
      await(program, waits, base);
      run(team, program);
    } catch (const std::exception& error) {
      broken = info_.id + ", step '" + program.name() + "': " + error.what();
      fail(broken);
    }
  }
  if (!signal.flag) return;
  broken.empty() ? signal.flag.raise(signal.epoch) : signal.flag.fail(broken);
}

void NpuDevice::run(npu_emu::Team& team, const NpuProgram& program) {
  if (!recording_) return program.run(team, scratch_, nullptr);
  std::vector<double> ends;
  double start = now_seconds();
  program.run(team, scratch_, &ends);
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < ends.size(); ++i) {
    spans_.push_back({&program, start, ends[i], static_cast<int>(i)});
    start = ends[i];
  }
}

void NpuDevice::await(NpuProgram& program, std::span<const sync::WaitFor> waits, uint32_t base) {
  if (waits.empty()) return;
  if (!waiter_) waiter_ = sync::make_waiter(policy_);
  double waited = 0;
  bool overslept = false;
  for (const sync::WaitFor& wait : waits) {
    sync::WaitContext context;
    context.step = program.name();
    context.device = raiser_;
    context.deadline = kWaitDeadline;
    context.predicted_seconds = program.wait_predictor().predict_after(waited);
    // Nobody wakes this thread when a kernel raises the flag, so it looks again by itself.
    context.block = [](std::chrono::milliseconds) { std::this_thread::sleep_for(std::chrono::microseconds(100)); };
    const sync::WaitReport report = waiter_->wait(wait.flag, wait.epoch + base, context);
    waited += report.seconds;
    overslept |= report.overslept;
  }
  overslept ? program.wait_predictor().observe_overslept() : program.wait_predictor().observe(waited);
}

Cost NpuDevice::estimate(std::span<const Operator> operators) const {
  Cost cost;
  for (const Operator& op : operators) {
    const Support support = supports(op);
    if (!support.yes) throw Error("the NPU does not take an operator", op.name, support.reason);
    const npu_emu::GraphProduct product = graph_product(op, std::get<MatMul>(op.body));
    const npu_emu::ProductCost each =
        npu_emu::product_cost(params_, product.shape(), product.number_format(), product.weight_bytes());
    cost.seconds += each.seconds;
    cost.joules += each.joules;
    cost.bytes += each.dram_bytes;
    cost.flops += 2.0 * static_cast<double>(product.tokens) * static_cast<double>(product.rows) *
                  static_cast<double>(product.columns);
  }
  if (!operators.empty()) cost.seconds += params_.launch_seconds;
  return cost;
}

void NpuDevice::finish(std::chrono::milliseconds deadline) {
  if (!queue_.drain(deadline)) {
    throw Error("the NPU did not finish within " + std::to_string(deadline.count()) + " ms", info_.id,
                "a step before it may hang; the wait's own message follows");
  }
  std::lock_guard lock(mutex_);
  const std::string message = std::exchange(failure_, "");
  failed_ = false;
  if (!message.empty()) throw Error("a step failed on the NPU", info_.id, message);
}

void NpuDevice::record_spans(bool on) { recording_ = on; }

std::vector<DeviceSpan> NpuDevice::take_spans() {
  std::lock_guard lock(mutex_);
  return std::exchange(spans_, {});
}

std::string NpuDevice::failure() const {
  if (!failed_) return "";
  std::lock_guard lock(mutex_);
  return failure_;
}

void NpuDevice::fail(const std::string& message) {
  std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = message;
  failed_ = true;
}

}  // namespace

DeviceCount npu_device_count() { return {1, 0}; }

std::unique_ptr<Device> open_npu_device(int index, const DeviceOptions& options) {
  if (index < 0 || index >= npu_device_count().all) {
    throw Error("no such NPU", "npu:" + std::to_string(index), "there is one emulated NPU: npu:0");
  }
  return std::make_unique<NpuDevice>(index, options);
}

ThreadQueue npu_thread(Device& npu) {
  auto* mine = dynamic_cast<NpuDevice*>(&npu);
  if (mine == nullptr) throw Error("not an emulated NPU", npu.info().id, "it has no thread to share");
  return mine->thread_queue();
}

}  // namespace tandem
