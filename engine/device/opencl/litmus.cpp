#include "engine/device/opencl/litmus.h"

#include "engine/device/opencl/event_wait.h"
#include "engine/device/opencl/memory.h"
#include "sync/error.h"

namespace tandem::opencl {
namespace {

// Builds the kernel with the atomics that gates are built with.
cl::Kernel build(ProgramCache& programs) {
  try {
    return programs.kernel("litmus", "litmus", "-cl-std=CL3.0 -DC11_ATOMICS");
  } catch (const Error&) {  // an OpenCL C 1.2 compiler
    return programs.kernel("litmus", "litmus", "");
  }
}

// Launches the kernel on a queue of its own and waits for its event.
class OpenclAgent final : public LitmusAgent {
 public:
  OpenclAgent(ProgramCache& programs, uint64_t max_allocation_bytes)
      : handle_(programs.handle()), max_allocation_bytes_(max_allocation_bytes), kernel_(build(programs)) {
    cl_int code = CL_SUCCESS;
    queue_ = cl::CommandQueue(handle_.context, handle_.device, 0, &code);
    check(code, "clCreateCommandQueue", handle_.id);
  }
  ~OpenclAgent() override { queue_.finish(); }

  const std::string& name() const override { return handle_.id; }
  uint32_t looks() const override { return 1 << 21; }  // takes some milliseconds
  // One work-item walks the whole test. Memory is imported at the first walk and stays until release_memory().
  void start(const LitmusWalk& walk) override {
    if (!memory_) memory_ = std::make_unique<SlotMemory>(handle_, true, max_allocation_bytes_);
    const cl_mem buffer = memory_->buffer(*walk.memory)();
    // Arguments in the order of kernels/litmus.cl; the memory takes two.
    set(0, buffer);
    set(1, cl_ulong{0});
    set(2, static_cast<cl_uint>(walk.test));
    set(3, cl_uint{walk.side});
    set(4, cl_uint{walk.round});
    set(5, cl_uint{walk.looks});
    set(6, cl_uint{walk.seed});
    check(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, cl::NDRange(1), cl::NDRange(1), nullptr, &ended_),
          "clEnqueueNDRangeKernel", "litmus.cl on " + handle_.id);
    check(queue_.flush(), "clFlush", handle_.id);
  }
  void finish(std::chrono::milliseconds deadline) override {
    wait_for_event(ended_, deadline, "litmus.cl on " + handle_.id);
  }
  // The imports must go before the memory that they refer to.
  void release_memory() override { memory_.reset(); }

 private:
  template <typename T>
  void set(cl_uint index, const T& value) {
    check(kernel_.setArg(index, sizeof value, &value), "clSetKernelArg",
          "argument " + std::to_string(index) + " of litmus.cl");
  }

  Handle handle_;
  uint64_t max_allocation_bytes_;
  cl::Kernel kernel_;
  cl::CommandQueue queue_;
  std::unique_ptr<SlotMemory> memory_;
  cl::Event ended_;
};

}  // namespace

std::unique_ptr<LitmusAgent> make_litmus_agent(ProgramCache& programs, uint64_t max_allocation_bytes) {
  return std::make_unique<OpenclAgent>(programs, max_allocation_bytes);
}

}  // namespace tandem::opencl
