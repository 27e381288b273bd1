#include "engine/plan/model_clock/model_clock.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "engine/plan/model_clock/processor_time.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Task {  // one operator
  int step = 0;
  const Operator* op = nullptr;
  OpTime time;
  double before = 0, after = 0;      // crossings
  bool opens = false, ends = false;  // the step's first and last operator
};

// A task waits in its queue (idle), crosses to its device, works there, and crosses back.
enum class Phase : uint8_t { idle, before, work, after };

struct Lane {  // one device
  bool npu = false;
  std::vector<Task> tasks;
  size_t next = 0;  // the current task, or the next one
  Phase phase = Phase::idle;
  double left = 0;                   // seconds that the phase still takes; of work: with all of the memory
  double free_at = 0;                // time when the lane last became idle
  double started = 0;                // time when the task's fixed part began, or its work if it has no fixed part
  size_t submitted = 0;              // number of tasks whose waits have ended, so that the GPU's queue has them
  std::vector<double> submitted_at;  // time for each of these
  bool rendering = false;            // the lane renders a frame and runs no task

  bool done() const { return next == tasks.size() && phase == Phase::idle; }
  const Task& task() const { return tasks[next]; }
};

// A simulation of events. Each turn starts what can start now. It then finds the next time at which a phase ends or a
// frame comes, and advances all lanes to that time. Rates of the memory are constant in between.
class Simulation {
 public:
  Simulation(const Plan& plan, const SocProfile& profile, const ClockOptions& options)
      : plan_(plan),
        profile_(profile),
        options_(options),
        join_(join_cost(profile, options.sync, plan.dominant)),
        step_end_(plan.steps.size(), kNever) {
    run_.devices.resize(plan.devices.size());
    lanes_.resize(plan.devices.size());
    for (size_t d = 0; d < lanes_.size(); ++d) {
      lanes_[d].npu = plan.devices[d] == kModelledNpu;
      TANDEM_CHECK(lanes_[d].npu || plan.devices[d] == kModelledGpu, "the model clock has one GPU and one NPU");
      TANDEM_CHECK(std::ranges::count(plan.devices, plan.devices[d]) == 1, "the model clock has one of each");
    }
    for (size_t s = 0; s < plan.steps.size(); ++s) add_step(static_cast<int>(s));
  }

  // Turns go on until all lanes are done. Frames and energy are counted behind the last one.
  ModelRun run() {
    while (!all_done()) {
      start_what_can();
      advance(next_event());
    }
    run_.seconds = now_;
    count_frames();
    add_energy();
    return std::move(run_);
  }

 private:
  // Makes a task of each operator. The first and the last graph of a matmul on the NPU get its two crossings.
  void add_step(int index) {
    const Step& step = plan_.steps[static_cast<size_t>(index)];
    Lane& lane = lanes_[static_cast<size_t>(step.device)];
    for (size_t i = 0; i < step.operators.size(); ++i) {
      const Operator& op = step.operators[i];
      Task task{index, &op, {}, 0, 0, i == 0, i + 1 == step.operators.size()};
      if (lane.npu) {
        add_graph_call(task);
        // Graphs of one matmul keep its name.
        if (task.opens || step.operators[i - 1].name != op.name) cross(task.before, join_.before());
        if (task.ends || step.operators[i + 1].name != op.name) cross(task.after, join_.end_seconds);
      } else {
        task.time = gpu_time(profile_, op, options_.context);
      }
      lane.tasks.push_back(task);
    }
    if (step.operators.empty()) step_end_[static_cast<size_t>(index)] = 0;
  }

  // A crossing is a hand-over between CPU and NPU, on one side of a graph call.
  void cross(double& place, double seconds) {
    place = seconds;
    ++run_.crossings;
  }

  // A shape whose number of tokens is no size of the profile is compiled once (H12, Online-prepare). The time of
  // compiling is counted apart, because it comes before the run.
  void add_graph_call(Task& task) {
    const std::string refusal = npu_refusal(profile_, *task.op);
    if (!refusal.empty()) {
      throw Error("the plan puts an operator on an NPU that does not run it", task.op->name + ": " + refusal,
                  "Use a plan that lets it fall back");
    }
    const MatMul& matmul = std::get<MatMul>(task.op->body);
    task.time = npu_time(profile_, matmul);
    const bool is_new = graphs_.insert({matmul.S, matmul.K, matmul.row_end - matmul.row_begin}).second;
    if (is_new && !has_graph(profile_, matmul.S)) run_.compile_seconds += compile_seconds(profile_, matmul);
  }

  bool all_done() const { return std::ranges::all_of(lanes_, &Lane::done); }

  // The time when the last step ended that the task waits for; kNever if one has not ended yet.
  double waits_end(const Task& task) const {
    double end = 0;
    if (!task.opens) return end;
    for (const int wait : plan_.steps[static_cast<size_t>(task.step)].waits) {
      end = std::max(end, step_end_[static_cast<size_t>(wait)]);
    }
    return end;
  }

  // A waiting frame goes before a task that came into the GPU's queue later.
  void start_what_can() {
    for (Lane& lane : lanes_) {
      submit(lane);
      if (lane.phase != Phase::idle) continue;
      const bool ready = lane.next < lane.tasks.size() && waits_end(lane.task()) <= now_;
      if (!lane.npu && frame_waits() && !(ready && lane.submitted_at[lane.next] <= frame_queued_at())) {
        lane.rendering = true;
        begin(lane, Phase::work, profile_.load.gpu_share * profile_.load.period_seconds);
      } else if (ready) {
        start(lane);
      }
    }
  }

  // Records when each task came into the queue. Tasks are queued in order, so none comes before its predecessor.
  void submit(Lane& lane) {
    while (lane.submitted < lane.tasks.size()) {
      const double ended = waits_end(lane.tasks[lane.submitted]);
      if (ended > now_) return;
      const double before = lane.submitted_at.empty() ? 0 : lane.submitted_at.back();
      lane.submitted_at.push_back(std::max(before, ended));
      ++lane.submitted;
    }
  }

  // The CPU polls the last part of a wait, after sleeping. A GPU that had to wait pays for its empty queue.
  void start(Lane& lane) {
    const Task& task = lane.task();
    const double waited = std::max(0.0, waits_end(task) - lane.free_at);
    double before = task.before;
    if (task.opens && !plan_.steps[static_cast<size_t>(task.step)].waits.empty()) {
      if (options_.sync == SyncCost::fast) run_.cpu_busy_seconds += std::min(waited, profile_.sync.sleep_seconds);
      if (!lane.npu && waited > 0) before += join_.resume_seconds;
    }
    begin(lane, Phase::before, before);
  }

  // A phase of length 0 ends at once, and the next one begins.
  void begin(Lane& lane, Phase phase, double seconds) {
    lane.phase = phase;
    lane.left = seconds;
    if (phase == Phase::work) lane.started = now_;
    if (seconds <= 0) end_phase(lane);
  }

  // Starts the task's next phase. The end of its last phase frees the lane. Behind the last operator of a step it also
  // sets the step's end, for which other lanes may wait.
  void end_phase(Lane& lane) {
    if (lane.rendering) {
      end_frame(lane);
      return;
    }
    const Task& task = lane.task();
    switch (lane.phase) {
      case Phase::before:
        // The launch is time of the device itself: a part of the work that does not use the memory.
        begin(lane, Phase::work, task.time.total());
        break;
      case Phase::work:
        record(lane);
        begin(lane, Phase::after, task.after);
        break;
      case Phase::after:
        if (task.ends) step_end_[static_cast<size_t>(task.step)] = now_;
        ++lane.next;
        lane.phase = Phase::idle;
        lane.free_at = now_;
        break;
      case Phase::idle:
        break;
    }
  }

  // Counts the work phase alone. Crossings take time, but the device does not work in them, so they draw none of its
  // power here.
  void record(const Lane& lane) {
    const Task& task = lane.task();
    const int device = plan_.steps[static_cast<size_t>(task.step)].device;
    const double seconds = now_ - lane.started;
    const double joules = seconds * (lane.npu ? profile_.power.npu_watts : profile_.power.gpu_watts);
    run_.spans.push_back({device, task.step, task.op->name, kind_name(*task.op), lane.started, now_, task.time.bytes,
                          task.time.flops, joules});
    ModelDevice& total = run_.devices[static_cast<size_t>(device)];
    total.busy_seconds += seconds;
    total.bytes += task.time.bytes;
    total.flops += task.time.flops;
    total.joules += joules;
  }

  // A task uses the memory only after its fixed part. The fixed part has ended when the time that is left is no longer
  // than the work itself.
  bool uses_memory(const Lane& lane) const {
    return lane.phase == Phase::work && !lane.rendering && lane.left <= lane.task().time.seconds;
  }

  // The speed of tasks that use the memory, relative to their speed alone. It is below 1 if they ask for more bytes a
  // second than both devices can get together.
  double speed() const {
    double asked = 0;
    for (const Lane& lane : lanes_)
      if (uses_memory(lane)) asked += lane.task().time.bytes_per_second();
    return std::min(1.0, profile_.memory.shared_bytes_per_second / std::max(asked, 1.0));
  }

  // Seconds until the lane's phase, or the fixed part of its work, ends.
  double length_of(const Lane& lane, double speed) const {
    if (lane.phase == Phase::idle) return kNever;
    if (uses_memory(lane)) return lane.left / speed;
    const bool fixed = lane.phase == Phase::work && !lane.rendering;
    return fixed ? lane.left - lane.task().time.seconds : lane.left;
  }

  // Seconds until the next event. Error if nothing runs and nothing can start: steps wait for each other.
  double next_event() const {
    double length = options_.load ? next_frame_ - now_ : kNever;
    bool moves = false;
    for (const Lane& lane : lanes_) {
      length = std::min(length, length_of(lane, speed()));
      moves = moves || lane.phase != Phase::idle;
    }
    // Frames release no step. So if all lanes are idle and tasks are left, the waits form a cycle.
    if (!moves && !all_done() && !frame_waits()) {
      throw Error("the steps of a plan wait for each other", plan_.name);
    }
    return length;
  }

  // Lets `length` seconds pass. Work that uses the memory progresses at speed(), everything else at full speed. Phases
  // end only after all lanes have advanced, so that every lane sees the same speed.
  void advance(double length) {
    if (length == kNever) return;
    const double shared = speed();
    std::array<bool, 2> ended{};
    for (size_t d = 0; d < lanes_.size(); ++d) {
      Lane& lane = lanes_[d];
      if (lane.phase == Phase::idle) continue;
      const bool fixed = lane.phase == Phase::work && !lane.rendering && !uses_memory(lane);
      const bool whole = length_of(lane, shared) <= length;
      // The end of the fixed part is an event within a phase: the work goes on and uses the memory from then on.
      if (fixed) {
        lane.left = whole ? lane.task().time.seconds : lane.left - length;
        ended[d] = whole && lane.left <= 0;
      } else {
        lane.left -= length * (uses_memory(lane) ? shared : 1.0);
        ended[d] = whole;
      }
    }
    now_ += length;
    // The frame's own time is exact, and the sum of event lengths may be off by rounding.
    if (options_.load && now_ >= next_frame_) {
      now_ = next_frame_;
      queued_frames_.push_back(now_);
      next_frame_ += profile_.load.period_seconds;
    }
    for (size_t d = 0; d < lanes_.size(); ++d)
      if (ended[d]) end_phase(lanes_[d]);
  }

  bool frame_waits() const { return frames_end_.size() < queued_frames_.size(); }
  double frame_queued_at() const { return queued_frames_[frames_end_.size()]; }

  // A frame ends like a task and releases no step.
  void end_frame(Lane& lane) {
    frames_end_.push_back(now_);
    lane.rendering = false;
    lane.phase = Phase::idle;
    lane.free_at = now_;
  }

  // Counts frames whose period ended before the run did.
  void count_frames() {
    for (size_t i = 0; i < queued_frames_.size(); ++i) {
      const double deadline = queued_frames_[i] + profile_.load.period_seconds;
      if (deadline > run_.seconds) continue;
      ++run_.frames;
      run_.frames_in_time += i < frames_end_.size() && frames_end_[i] <= deadline;
    }
  }

  // With fast synchronisation the CPU is busy during crossings too. Frames and compilation cost no energy here.
  void add_energy() {
    run_.cpu_busy_seconds +=
        options_.sync == SyncCost::fast ? static_cast<double>(run_.crossings) * profile_.sync.fast_seconds : 0;
    run_.joules = run_.seconds * profile_.power.base_watts + run_.cpu_busy_seconds * profile_.power.cpu_watts;
    for (const ModelDevice& device : run_.devices) run_.joules += device.joules;
  }

  const Plan& plan_;
  const SocProfile& profile_;
  const ClockOptions& options_;
  const JoinCost join_;
  ModelRun run_;
  std::vector<Lane> lanes_;
  std::vector<double> step_end_;
  std::set<std::tuple<int64_t, int64_t, int64_t>> graphs_;
  double now_ = 0;
  double next_frame_ = 0;
  std::vector<double> queued_frames_, frames_end_;
};

}  // namespace

double ModelRun::bytes() const {
  double sum = 0;
  for (const ModelDevice& device : devices) sum += device.bytes;
  return sum;
}

ModelRun run_model_clock(const Plan& plan, const SocProfile& profile, const ClockOptions& options) {
  return Simulation(plan, profile, options).run();
}

}  // namespace tandem
