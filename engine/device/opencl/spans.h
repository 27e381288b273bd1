// Measures when each kernel of a program ran on the steady clock, by the queue's profiling events or by a
// list's stamps.
//
// Contract: recording is off until start(). While it is off, the queue is asked for nothing. Threads: all calls
// are thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/device/lab/lab.h"
#include "engine/device/opencl/cl.h"
#include "engine/device/opencl/list_stamps.h"
#include "engine/device/opencl/prepared.h"

namespace tandem::opencl {

class SpanRecorder {
 public:
  explicit SpanRecorder(std::string device_id) : id_(std::move(device_id)) {}
  void start(const cl::CommandQueue& queue);  // the queue should be idle
  void stop();
  bool recording() const;
  void add(const Prepared& program, std::vector<cl::Event> events);  // one event for each kernel
  void add(std::shared_ptr<const StampedList> list);                 // released when take() has read its spans
  std::vector<DeviceSpan> take();                                    // spans that have ended, in order

 private:
  struct Pending {
    DeviceSpan span;  // its times are not known yet
    cl::Event event;
    std::shared_ptr<const StampedList> list;  // instead of span and event
  };
  void tie(const cl::CommandQueue& queue);  // ties the device's clock to the steady clock
  void take_event(const Pending& pending, std::vector<DeviceSpan>& spans) const;
  void keep_order(std::vector<DeviceSpan>& spans);

  std::string id_;
  mutable std::mutex mutex_;
  bool on_ = false;
  double offset_seconds_ = 0;  // steady clock minus device clock, as it was at tied_at_
  double tied_at_ = -1e9;
  double last_end_seconds_ = 0;   // end of the last span that was taken
  sync::CycleLine stamps_clock_;  // one for all lists of a recording, so that their spans keep their order
  std::vector<Pending> pending_;
};

// Queues the program's kernels, with events if recording is on.
void enqueue_measured(const cl::CommandQueue& queue, const Prepared& program, SpanRecorder& spans);

}  // namespace tandem::opencl
