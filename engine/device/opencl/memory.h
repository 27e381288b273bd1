// How the slots of the pool become OpenCL buffers: in place, or as copies with explicit transfers.
//
// Contract
//   buffer() imports a slot at its first use and keeps it until the memory is destroyed. Shared: CL_MEM_USE_HOST_PTR
//   over the whole slot, used only after the start-up test has shown that kernels and host see each other's stores. Not
//   shared: a device buffer, zeroed; upload() and download() copy regions through an in-order queue, upload_once() the
//   whole slot of weights, once for all programs. Threads: buffer() from one thread; the others from one thread at a
//   time, on slots that were imported before.
//   Failure: Error when a slot is larger than the device allows for one buffer.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "engine/device/opencl/cl.h"
#include "engine/device/operator.h"
#include "sync/pool.h"

namespace tandem::opencl {

class SlotMemory {
 public:
  SlotMemory(Handle handle, bool shared, uint64_t max_allocation_bytes)
      : handle_(std::move(handle)), shared_(shared), max_allocation_bytes_(max_allocation_bytes) {}

  bool shared() const { return shared_; }
  cl::Buffer buffer(const sync::Slot& slot);
  void upload(const cl::CommandQueue& queue,
              const Region& region);  // does not block; the host memory must stay as it is
  void upload_once(const cl::CommandQueue& queue, const Region& weights);
  void download(const cl::CommandQueue& queue, const Region& region);  // complete when the queue is

 private:
  struct Import {
    cl::Buffer buffer;
    const std::byte* begin = nullptr;
    size_t bytes = 0;
    uint64_t uploaded = 0;  // of weights: at which acquisition of the slot
  };
  template <typename OneRow, typename AllRows>
  void copy(const Region& region, OneRow one_row, AllRows all_rows);

  Handle handle_;
  bool shared_;
  uint64_t max_allocation_bytes_;
  std::mutex mutex_;  // guards imports_: the submitting thread looks up what the preparing thread imports
  std::map<uint64_t, Import> imports_;  // by slot id
};

}  // namespace tandem::opencl
