// Exits with status 0 if an OpenCL device on this machine builds and runs a kernel; `./dev setup` compiles and
// runs this.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <vector>

namespace {

// Builds and runs a kernel of one line, and reads its result. A driver that is listed may still lack a compiler or a
// processor, so nothing less shows that it works.
bool runs_a_kernel(cl_device_id device) {
  cl_int error = 0;
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  if (error != CL_SUCCESS) return false;
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  const char* source = "__kernel void probe(__global int* out) { out[get_global_id(0)] = 40 + (int)get_global_id(0); }";
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  int result[3] = {};
  cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(result), nullptr, &error);
  bool works = clBuildProgram(program, 1, &device, "", nullptr, nullptr) == CL_SUCCESS;
  if (works) {
    cl_kernel kernel = clCreateKernel(program, "probe", &error);
    const size_t items = 3;
    works = error == CL_SUCCESS && clSetKernelArg(kernel, 0, sizeof(out), &out) == CL_SUCCESS &&
            clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr) == CL_SUCCESS &&
            clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof(result), result, 0, nullptr, nullptr) == CL_SUCCESS &&
            result[2] == 42;
    if (kernel) clReleaseKernel(kernel);
  }
  clReleaseMemObject(out);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return works;
}

}  // namespace

// One device that works is enough, whatever the platform.
int main() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return 1;
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    cl_uint devices = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(devices);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, devices, ids.data(), nullptr);
    for (cl_device_id id : ids) {
      if (runs_a_kernel(id)) return 0;
    }
  }
  std::fprintf(stderr, "no OpenCL device here builds and runs a kernel\n");
  return 1;
}
