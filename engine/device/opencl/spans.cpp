#include "engine/device/opencl/spans.h"

#include <algorithm>
#include <utility>

#include "sync/clock.h"

namespace tandem::opencl {
namespace {

// A tie of two clocks is used for a second. Clocks drift apart by some 10 us a second, and tying them takes a third of
// a millisecond.
constexpr double kTieLasts = 1;
// The driver's clock and the processor's counter are each tied to the steady clock within about a microsecond. Spans of
// the two may therefore overlap by less than this.
constexpr double kTiesDiffer = 5e-6;

double profiled_seconds(const cl::Event& event, cl_profiling_info what, const std::string& object) {
  cl_ulong nanoseconds = 0;
  check(clGetEventProfilingInfo(event(), what, sizeof nanoseconds, &nanoseconds, nullptr), "clGetEventProfilingInfo",
        object);
  return static_cast<double>(nanoseconds) * 1e-9;
}

bool has_ended(const cl::Event& event) {
  cl_int status = CL_QUEUED;
  clGetEventInfo(event(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return status <= CL_COMPLETE;  // negative: it ended with an error
}

}  // namespace

// A tie that is less than a second old still counts. tie() waits for the queue and takes the lock at its end, so the
// lock is not held here meanwhile.
void SpanRecorder::start(const cl::CommandQueue& queue) {
  std::unique_lock lock(mutex_);
  const bool tied = now_seconds() - tied_at_ < kTieLasts;
  lock.unlock();
  if (!tied) tie(queue);
  lock.lock();
  on_ = true;
}

// Queues a marker between two looks at the steady clock and reads its time of queueing. The closest of five tries
// counts. Intel's runtime stamps markers only when they are submitted, so their time of queueing is 0. Then the time of
// submission counts.
void SpanRecorder::tie(const cl::CommandQueue& queue) {
  double best = 1e9, offset = 0;
  for (int i = 0; i < 5; ++i) {
    cl::Event marker;
    const double before = now_seconds();
    check(queue.enqueueMarkerWithWaitList(nullptr, &marker), "clEnqueueMarkerWithWaitList", id_);
    double after = now_seconds();
    check(queue.finish(), "clFinish", id_);
    double stamp = profiled_seconds(marker, CL_PROFILING_COMMAND_QUEUED, id_);
    if (stamp == 0) {
      stamp = profiled_seconds(marker, CL_PROFILING_COMMAND_SUBMIT, id_);
      after = now_seconds();
    }
    if (after - before < best) {
      best = after - before;
      offset = (before + after) / 2 - stamp;
    }
  }
  std::lock_guard lock(mutex_);
  offset_seconds_ = offset;
  tied_at_ = now_seconds();
  if (sync::cycle_counter_usable()) stamps_clock_ = sync::CycleLine(sync::tie_clocks());
}

void SpanRecorder::stop() {
  std::lock_guard lock(mutex_);
  on_ = false;
}

bool SpanRecorder::recording() const {
  std::lock_guard lock(mutex_);
  return on_;
}

// Only keeps the events. take() reads their times later, when the commands have ended.
void SpanRecorder::add(const Prepared& program, std::vector<cl::Event> events) {
  const bool alone = program.listed;  // otherwise it would be part of a list
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < events.size(); ++i) {
    pending_.push_back({{program.owner, 0, 0, program.operator_of[i], alone}, std::move(events[i]), nullptr});
  }
}

void SpanRecorder::add(std::shared_ptr<const StampedList> list) {
  std::lock_guard lock(mutex_);
  pending_.push_back({{}, {}, std::move(list)});
}

void SpanRecorder::take_event(const Pending& pending, std::vector<DeviceSpan>& spans) const {
  DeviceSpan& span = spans.emplace_back(pending.span);
  span.start_seconds = profiled_seconds(pending.event, CL_PROFILING_COMMAND_START, id_) + offset_seconds_;
  span.end_seconds = profiled_seconds(pending.event, CL_PROFILING_COMMAND_END, id_) + offset_seconds_;
}

// The queue is in order. A span that seems to begin just before its predecessor's end was stamped by the other clock.
// It is made to begin at that end. Larger overlaps stay, so that they are seen.
void SpanRecorder::keep_order(std::vector<DeviceSpan>& spans) {
  for (DeviceSpan& span : spans) {
    const double early = last_end_seconds_ - span.start_seconds;
    if (early > 0 && early < kTiesDiffer) {
      span.start_seconds = last_end_seconds_;
      span.end_seconds = std::max(span.end_seconds, span.start_seconds);
    }
    last_end_seconds_ = span.end_seconds;
  }
}

// Reads pending work in order up to the first that has not ended. Each list extends the line of its clock with a
// new tie.
std::vector<DeviceSpan> SpanRecorder::take() {
  std::lock_guard lock(mutex_);
  const auto ended = [](const Pending& p) { return p.list ? p.list->ended() : has_ended(p.event); };
  std::vector<DeviceSpan> spans;
  spans.reserve(pending_.size());
  auto next = pending_.begin();
  for (; next != pending_.end() && ended(*next); ++next) {
    if (next->list) {
      stamps_clock_.extend(sync::tie_clocks());
      const auto more = next->list->spans(stamps_clock_);
      spans.insert(spans.end(), more.begin(), more.end());
    } else {
      take_event(*next, spans);
    }
  }
  pending_.erase(pending_.begin(), next);
  keep_order(spans);
  return spans;
}

void enqueue_measured(const cl::CommandQueue& queue, const Prepared& program, SpanRecorder& spans) {
  if (!spans.recording()) return enqueue_kernels(queue, program, nullptr);
  std::vector<cl::Event> events;
  enqueue_kernels(queue, program, &events);
  spans.add(program, std::move(events));
}

}  // namespace tandem::opencl
