#include "engine/device/opencl/products.h"

#include <array>

#include "sync/error.h"

namespace tandem::opencl {
namespace {

cl::Buffer buffer_of(ProgramCache& programs, size_t bytes, void* from, const std::string& object) {
  cl_int code = CL_SUCCESS;
  const cl_mem_flags flags = CL_MEM_READ_WRITE | (from ? CL_MEM_COPY_HOST_PTR : 0);
  cl::Buffer buffer(programs.handle().context, flags, bytes, from, &code);
  check(code, "clCreateBuffer", object);
  return buffer;
}

}  // namespace

bool host_has_vpdpbusd() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

bool products_proven(ProgramCache& programs, const cl::CommandQueue& queue) {
  const std::string object = "test of byte products on " + programs.handle().id;
  try {
    cl::Kernel kernel = programs.kernel("products_probe", "products_probe", "");
    std::array<uint32_t, 17> words{};
    for (uint32_t i = 0; i < 16; ++i) words[i] = 0xff80017fU + i * 0x01010101U;
    words[16] = 0x7f81ff03U;
    std::array<int32_t, 16> expected{}, sums{};
    for (size_t i = 0; i < expected.size(); ++i) {
      expected[i] = 7;
      for (int byte = 0; byte < 32; byte += 8)
        expected[i] += static_cast<int32_t>(words[i] >> byte & 255U) * static_cast<int8_t>(words[16] >> byte & 255U);
    }
    const cl::Buffer from = buffer_of(programs, sizeof words, words.data(), object);
    const cl::Buffer to = buffer_of(programs, sizeof sums, nullptr, object);
    cl_uint index = 0;
    for (const cl::Buffer* buffer : {&from, &to}) {
      const cl_mem memory = (*buffer)();
      const cl_ulong offset = 0;
      check(kernel.setArg(index++, sizeof memory, &memory), "clSetKernelArg", object);
      check(kernel.setArg(index++, sizeof offset, &offset), "clSetKernelArg", object);
    }
    check(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1), cl::NDRange(1)), "clEnqueueNDRangeKernel",
          object);
    check(queue.finish(), "clFinish", object);
    check(queue.enqueueReadBuffer(to, CL_TRUE, 0, sizeof sums, sums.data()), "clEnqueueReadBuffer", object);
    return sums == expected;
  } catch (const Error&) {
    return false;  // kernels multiply in plain C then, with the same sums
  }
}

}  // namespace tandem::opencl
