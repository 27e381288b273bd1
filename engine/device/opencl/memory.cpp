#include "engine/device/opencl/memory.h"

#include <array>

#include "sync/error.h"

namespace tandem::opencl {
namespace {

using Coordinates = std::array<cl::size_type, 3>;

}  // namespace

// Imports the slot at its first use. Slot ids are never reused, but addresses are, so imports that overlap the slot's
// memory are dropped first.
cl::Buffer SlotMemory::buffer(const sync::Slot& slot) {
  std::lock_guard lock(mutex_);
  const auto found = imports_.find(slot.id());
  if (found != imports_.end()) return found->second.buffer;
  const std::string object =
      "slot '" + slot.label() + "' (" + std::to_string(slot.size_bytes()) + " bytes) on " + handle_.id;
  if (slot.size_bytes() > max_allocation_bytes_) {
    throw Error(
        "a slot is larger than the device's largest buffer of " + std::to_string(max_allocation_bytes_) + " bytes",
        object, "Cut the tensor into shards, or use another device");
  }
  // A pool that no longer exists may have left imports of memory that the system has since given to this slot.
  std::erase_if(imports_, [&](const auto& entry) {
    const Import& old = entry.second;
    return old.begin < slot.data() + slot.size_bytes() && slot.data() < old.begin + old.bytes;
  });
  cl_int code = CL_SUCCESS;
  const cl_mem_flags flags = CL_MEM_READ_WRITE | (shared_ ? CL_MEM_USE_HOST_PTR : 0);
  cl::Buffer buffer(handle_.context, flags, slot.size_bytes(), shared_ ? slot.data() : nullptr, &code);
  check(code, "clCreateBuffer", object);
  if (!shared_) {
    // Slots start zeroed, and so must their buffers.
    cl::CommandQueue queue(handle_.context, handle_.device, 0, &code);
    check(code, "clCreateCommandQueue", object);
    check(queue.enqueueFillBuffer(buffer, cl_uint{0}, 0, slot.size_bytes()), "clEnqueueFillBuffer", object);
    check(queue.finish(), "clFinish", object);
  }
  imports_[slot.id()] = {buffer, slot.data(), slot.size_bytes(), 0, {}, {}};
  return buffer;
}

// Copies all rows but the last by one command, if the API can describe them as a rectangle. It cannot describe a row
// that starts in one pitch and ends in the next. The last row is a command of its own: NVIDIA's driver wants its whole
// pitch to lie in the buffer.
template <typename OneRow, typename AllRows>
void SlotMemory::copy(const Region& region, OneRow one_row, AllRows all_rows) {
  const size_t offset = region.at.offset_bytes, pitch = region.pitch_bytes;
  if (region.rows > 1 && pitch >= region.width_bytes && offset % pitch + region.width_bytes <= pitch) {
    all_rows(Coordinates{offset % pitch, offset / pitch, 0},
             Coordinates{region.width_bytes, static_cast<size_t>(region.rows - 1), 1}, pitch);
    one_row(offset + static_cast<size_t>(region.rows - 1) * pitch, region.width_bytes);
    return;
  }
  for (int64_t row = 0; row < region.rows; ++row) one_row(offset + row * pitch, region.width_bytes);
}

// The slot's number of acquisitions shows whether it was filled anew since the last upload.
bool SlotMemory::upload_once(const cl::CommandQueue& queue, const Region& weights) {
  const uint64_t id = weights.at.slot->id(), acquired = weights.at.slot->times_acquired();
  {
    std::lock_guard lock(mutex_);
    if (imports_.at(id).uploaded == acquired) return false;
  }
  // The whole slot is copied, so programs with other weights of this slot need no further copy. The lock is not held
  // meanwhile, because buffer() takes it.
  Region whole = weights;
  whole.at.offset_bytes = 0;
  whole.rows = 1;
  whole.width_bytes = whole.pitch_bytes = weights.at.slot->size_bytes();
  upload(queue, whole);
  std::lock_guard lock(mutex_);
  imports_.at(id).uploaded = acquired;
  imports_.at(id).rearranged.clear();
  return true;
}

uint64_t SlotMemory::upload_changes(const cl::CommandQueue& queue, const sync::Slot& slot) {
  std::vector<Region> changed;
  {
    std::lock_guard lock(mutex_);
    changed = imports_.at(slot.id()).parts.take_changed(slot);
  }
  uint64_t bytes = 0;
  for (const Region& region : changed) {
    upload(queue, region);
    bytes += region.width_bytes;
  }
  return bytes;
}

std::vector<gpu::RearrangedBytes::Part> SlotMemory::rearrange_once(const gpu::PanelRange& range) {
  std::lock_guard lock(mutex_);
  return imports_.at(range.at.slot->id()).rearranged.add(range.begin(), range.end());
}

// The copies are queued and not waited for. The slot must keep its content until the queue has passed them.
void SlotMemory::upload(const cl::CommandQueue& queue, const Region& region) {
  const sync::Slot& slot = *region.at.slot;
  const cl::Buffer target = buffer(slot);
  const std::string object = "slot '" + slot.label() + "' on " + handle_.id;
  copy(
      region,
      [&](size_t offset, size_t bytes) {
        check(queue.enqueueWriteBuffer(target, CL_FALSE, offset, bytes, slot.data() + offset), "clEnqueueWriteBuffer",
              object);
      },
      [&](const Coordinates& origin, const Coordinates& extent, size_t pitch) {
        check(queue.enqueueWriteBufferRect(target, CL_FALSE, origin, origin, extent, pitch, 0, pitch, 0, slot.data()),
              "clEnqueueWriteBufferRect", object);
      });
}

// Queued like an upload: the slot has the results only when the queue has passed the copies.
void SlotMemory::download(const cl::CommandQueue& queue, const Region& region) {
  const sync::Slot& slot = *region.at.slot;
  const cl::Buffer source = buffer(slot);
  const std::string object = "slot '" + slot.label() + "' on " + handle_.id;
  copy(
      region,
      [&](size_t offset, size_t bytes) {
        check(queue.enqueueReadBuffer(source, CL_FALSE, offset, bytes, slot.data() + offset), "clEnqueueReadBuffer",
              object);
      },
      [&](const Coordinates& origin, const Coordinates& extent, size_t pitch) {
        check(queue.enqueueReadBufferRect(source, CL_FALSE, origin, origin, extent, pitch, 0, pitch, 0, slot.data()),
              "clEnqueueReadBufferRect", object);
      });
}

// Both places are described by the same rectangle, so both lie within a pitch or neither does.
void SlotMemory::copy_within(const cl::CommandQueue& queue, const SlotCopy& move) {
  const Region& from = move.from;
  const sync::Slot& slot = *from.at.slot;
  const size_t begin = from.at.offset_bytes, target = move.to.offset_bytes;
  TANDEM_CHECK(move.to.slot == &slot, "a copy within a slot");
  TANDEM_CHECK(from.rows == 1 || target % from.pitch_bytes + from.width_bytes <= from.pitch_bytes, "rows in a pitch");
  const cl::Buffer memory = buffer(slot);
  const std::string object = "slot '" + slot.label() + "' on " + handle_.id;
  copy(
      from,
      [&](size_t offset, size_t bytes) {
        check(queue.enqueueCopyBuffer(memory, memory, offset, offset - begin + target, bytes), "clEnqueueCopyBuffer",
              object);
      },
      [&](const Coordinates& origin, const Coordinates& extent, size_t pitch) {
        check(queue.enqueueCopyBufferRect(memory, memory, origin, Coordinates{target % pitch, target / pitch, 0},
                                          extent, pitch, 0, pitch, 0),
              "clEnqueueCopyBufferRect", object);
      });
}

}  // namespace tandem::opencl
