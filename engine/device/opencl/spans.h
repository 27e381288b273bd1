// Measures how long each kernel of a program ran, by the queue's profiling events, on the steady clock.
//
// Contract: off until start(); while off nothing is asked of the queue. Threads: all calls are thread-safe.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/opencl/cl.h"
#include "engine/device/opencl/prepared.h"

namespace tandem::opencl {

class SpanRecorder {
 public:
  explicit SpanRecorder(std::string device_id) : id_(std::move(device_id)) {}
  void start(const cl::CommandQueue& queue);  // maps the device's clock; the queue should be idle
  void stop();
  bool recording() const;
  void add(const Prepared& program, std::vector<cl::Event> events);  // one event a kernel
  std::vector<DeviceSpan> take();                                    // those that have ended

 private:
  struct Pending {
    DeviceSpan span;  // without its times
    cl::Event event;
  };
  std::string id_;
  mutable std::mutex mutex_;
  bool on_ = false;
  double offset_seconds_ = 0;  // steady clock minus device clock
  std::vector<Pending> pending_;
};

// Queues the program's kernels, measured where recording is on.
void enqueue_measured(const cl::CommandQueue& queue, const Prepared& program, SpanRecorder& spans);

}  // namespace tandem::opencl
