#include "engine/device/opencl/spans.h"

#include <chrono>
#include <utility>

namespace tandem::opencl {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double profiled_seconds(const cl::Event& event, cl_profiling_info what, const std::string& object) {
  cl_ulong nanoseconds = 0;
  check(clGetEventProfilingInfo(event(), what, sizeof nanoseconds, &nanoseconds, nullptr), "clGetEventProfilingInfo",
        object);
  return static_cast<double>(nanoseconds) * 1e-9;
}

bool ended(const cl::Event& event) {
  cl_int status = CL_QUEUED;
  clGetEventInfo(event(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return status <= CL_COMPLETE;  // negative: it ended with an error
}

}  // namespace

// A marker is stamped when it is queued, between two looks at the steady clock; the closest of a few tries counts.
void SpanRecorder::start(const cl::CommandQueue& queue) {
  double best = 1e9, offset = 0;
  for (int i = 0; i < 5; ++i) {
    cl::Event marker;
    const double before = steady_seconds();
    check(queue.enqueueMarkerWithWaitList(nullptr, &marker), "clEnqueueMarkerWithWaitList", id_);
    const double after = steady_seconds();
    check(queue.finish(), "clFinish", id_);
    const double queued = profiled_seconds(marker, CL_PROFILING_COMMAND_QUEUED, id_);
    if (after - before < best) {
      best = after - before;
      offset = (before + after) / 2 - queued;
    }
  }
  std::lock_guard lock(mutex_);
  offset_seconds_ = offset;
  on_ = true;
}

void SpanRecorder::stop() {
  std::lock_guard lock(mutex_);
  on_ = false;
}

bool SpanRecorder::recording() const {
  std::lock_guard lock(mutex_);
  return on_;
}

void SpanRecorder::add(const Program* program, cl::Event first, cl::Event last) {
  std::lock_guard lock(mutex_);
  pending_.push_back({program, std::move(first), std::move(last)});
}

std::vector<DeviceSpan> SpanRecorder::take() {
  std::lock_guard lock(mutex_);
  std::vector<DeviceSpan> spans;
  size_t taken = 0;
  for (; taken < pending_.size() && ended(pending_[taken].last); ++taken) {
    const Pending& p = pending_[taken];
    const double begin = profiled_seconds(p.first, CL_PROFILING_COMMAND_START, id_);
    const double end = profiled_seconds(p.last, CL_PROFILING_COMMAND_END, id_);
    spans.push_back({p.program, begin + offset_seconds_, end + offset_seconds_});
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(taken));
  return spans;
}

}  // namespace tandem::opencl
