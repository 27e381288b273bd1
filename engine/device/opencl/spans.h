// Measures how long each kernel of a program ran, by the queue's profiling events or by a list's
// stamps, on the steady clock.
//
// Contract: off until start(); while off nothing is asked of the queue. Threads: all calls are thread-safe.
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
  void add(const Prepared& program, std::vector<cl::Event> events);  // one event a kernel
  void add(std::shared_ptr<const StampedList> list);                 // given back once its spans were taken
  std::vector<DeviceSpan> take();                                    // those that have ended

 private:
  struct Pending {
    DeviceSpan span;  // without its times
    cl::Event event;
    std::shared_ptr<const StampedList> list;  // instead of both
  };
  void tie(const cl::CommandQueue& queue);  // the device's clock to the steady one
  void take_event(const Pending& pending, std::vector<DeviceSpan>& spans) const;
  void keep_order(std::vector<DeviceSpan>& spans);

  std::string id_;
  mutable std::mutex mutex_;
  bool on_ = false;
  double offset_seconds_ = 0;  // steady clock minus device clock, as it was at tied_at_
  double tied_at_ = -1e9;
  double last_end_seconds_ = 0;   // of the spans that were taken
  sync::CycleLine stamps_clock_;  // one for all lists of a recording, so that their spans keep their order
  std::vector<Pending> pending_;
};

// Queues the program's kernels, measured where recording is on.
void enqueue_measured(const cl::CommandQueue& queue, const Prepared& program, SpanRecorder& spans);

}  // namespace tandem::opencl
