#include "engine/device/opencl/list_stamps.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "sync/cycle_clock.h"
#include "sync/error.h"

namespace tandem::opencl {

// 0 means that a stamp is not written yet, so all of them are cleared before the launch.
void StampedList::arm(std::shared_ptr<const ProgramList> list, const sync::FlagLine& done, uint32_t serial) {
  list_ = std::move(list);
  std::fill_n(slot_->as<uint64_t>(), 1 + list_->parts().size(), uint64_t{0});
  done_ = &done;
  serial_ = serial;
}

uint64_t StampedList::stamp(size_t index) const {
  return std::atomic_ref(slot_->as<uint64_t>()[index]).load(std::memory_order_acquire);
}

// A list raises its last flag before it writes its done word. A thread that waited for the flag finds all stamps, but
// perhaps not the word. After a failure the stamps of records are left out, and the word shows the end.
bool StampedList::ended() const {
  if (stamp(list_->parts().size()) != 0) return true;
  return static_cast<int32_t>(done_->epoch.load(std::memory_order_acquire) - serial_) >= 0;
}

// Each part lasts from the stamp in front of it to its own. Waits have stamps too, but no spans.
std::vector<DeviceSpan> StampedList::spans(const sync::CycleLine& clock) const {
  const std::span<const ListPart> parts = list_->parts();
  std::vector<DeviceSpan> spans;
  if (stamp(parts.size()) == 0) return spans;  // after a failure stamps do not fit the parts
  uint64_t begin = stamp(0);
  for (size_t i = 0; i < parts.size(); ++i) {
    const uint64_t end = stamp(i + 1);
    if (parts[i].program) spans.push_back({parts[i].program, clock.seconds(begin), clock.seconds(end), parts[i].op});
    begin = end;
  }
  return spans;
}

// The kernel's two stamps must lie in order between two reads of the host. A counter with another begin or another rate
// would give a stamp outside them.
bool cycle_stamps_proven(ProgramCache& programs, const cl::CommandQueue& queue) {
  if (!sync::cycle_counter_usable()) return false;
  const std::string object = "cycle counter test on " + programs.handle().id;
  try {
    cl::Kernel kernel = programs.kernel("cycles_probe", "cycles_probe", "");
    cl_int code = CL_SUCCESS;
    const cl::Buffer buffer(programs.handle().context, CL_MEM_READ_WRITE, 2 * sizeof(uint64_t), nullptr, &code);
    check(code, "clCreateBuffer", object);
    const cl_mem memory = buffer();
    const cl_ulong offset = 0;
    check(kernel.setArg(0, sizeof memory, &memory), "clSetKernelArg", object);
    check(kernel.setArg(1, sizeof offset, &offset), "clSetKernelArg", object);
    const uint64_t before = sync::read_cycles();
    check(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1), cl::NDRange(1)), "clEnqueueNDRangeKernel",
          object);
    check(queue.finish(), "clFinish", object);
    const uint64_t after = sync::read_cycles();
    uint64_t stamps[2] = {};
    check(queue.enqueueReadBuffer(buffer, CL_TRUE, 0, sizeof stamps, stamps), "clEnqueueReadBuffer", object);
    return before < stamps[0] && stamps[0] <= stamps[1] && stamps[1] < after;
  } catch (const Error&) {
    return false;  // spans come from single launches then (DeviceSpan::alone)
  }
}

}  // namespace tandem::opencl
