// Turns slots of the pool into OpenCL buffers: in place, or as copies with explicit transfers.
//
// Contract
//   buffer() imports a slot at its first use and keeps the buffer until this object is destroyed.
//   Shared: the buffer covers the whole slot (CL_MEM_USE_HOST_PTR). This is used only after the start-up test has shown
//   that kernels and host see each other's stores.
//   Not shared: the buffer is the device's own, zeroed. upload() and download() copy regions through an in-order queue.
//   upload_once() copies a whole slot of weights, once for all programs. rearrange_once() says which panels of it the
//   caller must still put into pieces of rows (gpu/row_pieces.h).
//   Threads: buffer() from one thread. The others from one thread at a time, on slots that were imported before.
//   Failure: Error when a slot is larger than the device allows for one buffer.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "engine/device/gpu/regions.h"
#include "engine/device/gpu/row_pieces.h"
#include "engine/device/opencl/cl.h"
#include "engine/device/operator.h"
#include "engine/device/private_slots.h"
#include "sync/pool.h"

namespace tandem::opencl {

class SlotMemory {
 public:
  SlotMemory(Handle handle, bool shared, uint64_t max_allocation_bytes)
      : handle_(std::move(handle)), shared_(shared), max_allocation_bytes_(max_allocation_bytes) {}

  bool shared() const { return shared_; }
  cl::Buffer buffer(const sync::Slot& slot);
  void upload(const cl::CommandQueue& queue,
              const Region& region);  // does not block; the slot must not change until the copy has ended
  // Copies the parts of a divided slot that have changed since the last call. Returns their bytes.
  uint64_t upload_changes(const cl::CommandQueue& queue, const sync::Slot& slot);
  bool upload_once(const cl::CommandQueue& queue, const Region& weights);  // false: they were there
  // The parts of a range of an uploaded slot that were not rearranged since. The caller does it at once.
  std::vector<gpu::RearrangedBytes::Part> rearrange_once(const gpu::PanelRange& range);
  void download(const cl::CommandQueue& queue, const Region& region);     // complete when the queue has finished
  void copy_within(const cl::CommandQueue& queue, const SlotCopy& move);  // the same

 private:
  struct Import {
    cl::Buffer buffer;
    const std::byte* begin = nullptr;
    size_t bytes = 0;
    uint64_t uploaded = 0;  // for weights: Slot::times_acquired() at the upload; 0: none yet
    gpu::RearrangedBytes rearranged;
    gpu::CopiedParts parts;
  };
  template <typename OneRow, typename AllRows>
  void copy(const Region& region, OneRow one_row, AllRows all_rows);

  Handle handle_;
  bool shared_;
  uint64_t max_allocation_bytes_;
  std::mutex mutex_;  // guards imports_, which the submitting thread reads and the preparing thread fills
  std::map<uint64_t, Import> imports_;  // by slot id
};

}  // namespace tandem::opencl
