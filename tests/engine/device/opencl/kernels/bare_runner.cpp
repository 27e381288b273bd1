#include "tests/engine/device/opencl/kernels/bare_runner.h"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "engine/device/opencl/program_cache.h"
#include "engine/device/opencl/self_test.h"
#include "engine/device/processor.h"

namespace tandem::opencl::test {
namespace {

constexpr uint32_t kCanary = 0xdecade5u;

void check(cl_int code, const std::string& call) {
  if (code != CL_SUCCESS) throw std::runtime_error(call + " gave " + std::to_string(code));
}

}  // namespace

struct BareRunner::State {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  std::map<std::string, cl_program> programs;
  std::map<uint64_t, cl_mem> buffers;
  cl_mem dummy = nullptr;
  std::string always;  // the options of every program

  ~State() {
    for (auto& [id, buffer] : buffers) clReleaseMemObject(buffer);
    if (dummy) clReleaseMemObject(dummy);
    for (auto& [key, program] : programs) clReleaseProgram(program);
    if (queue) clReleaseCommandQueue(queue);
    if (context) clReleaseContext(context);
  }

  cl_program program(const std::string& text, const std::string& options) {
    cl_program& found = programs[options + "\n" + text];
    if (found) return found;
    const char* source = text.c_str();
    cl_int code = 0;
    found = clCreateProgramWithSource(context, 1, &source, nullptr, &code);
    check(code, "clCreateProgramWithSource");
    // The options have the text and the order of ProgramCache's. So a driver that keeps compiled kernels already
    // has these.
    const std::string all = "-cl-std=CL1.2 " + always + " " + options;
    if (clBuildProgram(found, 1, &device, all.c_str(), nullptr, nullptr) != CL_SUCCESS) {
      std::vector<char> log(65536);
      clGetProgramBuildInfo(found, device, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
      clReleaseProgram(std::exchange(found, nullptr));
      throw std::runtime_error("clBuildProgram " + options + ":\n" + log.data());
    }
    return found;
  }

  cl_mem buffer(const sync::Slot* slot) {
    cl_int code = 0;
    cl_mem& found = slot ? buffers[slot->id()] : dummy;
    if (found) return found;
    found =
        slot ? clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, slot->size_bytes(), slot->data(), &code)
             : clCreateBuffer(context, CL_MEM_READ_WRITE, 64, nullptr, &code);
    check(code, "clCreateBuffer");
    return found;
  }
};

BareRunner::~BareRunner() = default;

std::unique_ptr<BareRunner>& BareRunner::kept() {
  static std::unique_ptr<BareRunner> runner = []() -> std::unique_ptr<BareRunner> {
    cl_platform_id platform = nullptr;
    cl_uint platforms = 0;
    auto state = std::make_unique<State>();
    if (clGetPlatformIDs(1, &platform, &platforms) != CL_SUCCESS || platforms == 0) return nullptr;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &state->device, nullptr) != CL_SUCCESS) return nullptr;
    char name[256] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
    const bool is_pocl = std::string(name).find("Portable") != std::string::npos;
    state->always = options_of_every_program(cl::Device(state->device, true)) + (is_pocl ? " -DHAS_PREFETCH" : "");
    cl_int code = 0;
    state->context = clCreateContext(nullptr, 1, &state->device, nullptr, nullptr, &code);
    check(code, "clCreateContext");
    state->queue = clCreateCommandQueue(state->context, state->device, 0, &code);
    check(code, "clCreateCommandQueue");
    std::unique_ptr<BareRunner> made(new BareRunner);
    made->state_ = std::move(state);
    return made;
  }();
  return runner;
}

BareRunner* BareRunner::instance() { return kept().get(); }
void BareRunner::close() { kept().reset(); }

LoweringContext BareRunner::context() const {
  LoweringContext context;
  context.vector_registers = vector_registers(cl::Device(state_->device, true));
  context.processor = this_processor();
  return context;
}

double BareRunner::run(const std::vector<KernelLaunch>& launches) {
  double seconds = 0;
  for (const KernelLaunch& launch : launches) seconds += run_whole(assemble_source(launch.source), launch);
  return seconds;
}

double BareRunner::run_source(const std::string& text, const KernelLaunch& launch) {
  return run_whole(expand_source("common") + "#line 1\n" + text, launch);
}

bool BareRunner::builds(const std::string& stem, const std::string& options) {
  try {
    state_->program(assemble_source(stem), options);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

// Sets the kernel's arguments, runs it, and waits for its end. Then it maps each written buffer, so that the host sees
// the results.
double BareRunner::run_whole(const std::string& text, const KernelLaunch& launch) {
  cl_int code = 0;
  cl_kernel kernel = clCreateKernel(state_->program(text, launch.options), launch.kernel.c_str(), &code);
  check(code, "clCreateKernel " + launch.kernel);
  cl_uint index = 0;
  const auto set = [&](size_t bytes, const void* value) {
    check(clSetKernelArg(kernel, index, bytes, value), "clSetKernelArg " + launch.kernel + " " + std::to_string(index));
    ++index;
  };
  std::vector<cl_mem> written;
  for (const Arg& arg : launch.args) {
    if (const auto* buffer = std::get_if<BufferArg>(&arg)) {
      cl_mem memory = state_->buffer(buffer->at.slot);
      const cl_ulong offset = buffer->at.offset_bytes;
      set(sizeof memory, &memory);
      set(sizeof offset, &offset);
      if (buffer->writes && buffer->at.slot) written.push_back(memory);
    } else {
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) set(sizeof value, &value);
          },
          arg);
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  code = clEnqueueNDRangeKernel(state_->queue, kernel, 3, nullptr, launch.global.data(), launch.local.data(), 0,
                                nullptr, nullptr);
  if (code == CL_SUCCESS) code = clFinish(state_->queue);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  clReleaseKernel(kernel);
  check(code, "running " + launch.kernel);
  for (cl_mem memory : written) {  // a map makes the writes visible to the host, as OpenCL 1.2 requires
    size_t bytes = 0;
    clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
    void* mapped = clEnqueueMapBuffer(state_->queue, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, nullptr,
                                      nullptr, &code);
    check(code, "clEnqueueMapBuffer");
    clEnqueueUnmapMemObject(state_->queue, memory, mapped, 0, nullptr, nullptr);
  }
  clFinish(state_->queue);
  return seconds;
}

Operand Memory::room(size_t bytes) {
  sync::Slot& slot = pool_.acquire(bytes + 64, sync::SlotUse::activations, "test");
  guards_.push_back({&slot, (bytes + 3) / 4 * 4});
  for (size_t at = guards_.back().end_bytes; at + 4 <= slot.size_bytes(); at += 4) *slot.as<uint32_t>(at) = kCanary;
  return {&slot, 0};
}

bool Memory::canaries_hold() const {
  for (const Guard& guard : guards_) {
    for (size_t at = guard.end_bytes; at + 4 <= guard.slot->size_bytes(); at += 4) {
      if (*guard.slot->as<uint32_t>(at) != kCanary) return false;
    }
  }
  return true;
}

}  // namespace tandem::opencl::test
