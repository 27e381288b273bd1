// OpenCL functions that can be made to fail (faults_api.h).
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/engine/device/faults_api.h"

using tandem::testing::injected;
using tandem::testing::real;

#define REAL(name) static const auto call = real(&name, #name)

extern "C" {

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id* devices,
                      cl_uint* found) {
  REAL(clGetDeviceIDs);
  if (const auto code = injected("clGetDeviceIDs")) return *code;
  return call(platform, type, count, devices, found);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                              const size_t* global, const size_t* local, cl_uint count, const cl_event* waits,
                              cl_event* event) {
  REAL(clEnqueueNDRangeKernel);
  if (const auto code = injected("clEnqueueNDRangeKernel")) return *code;
  return call(queue, kernel, dimensions, offset, global, local, count, waits, event);
}

cl_int clFinish(cl_command_queue queue) {
  REAL(clFinish);
  const cl_int done = call(queue);  // the queued commands end all the same
  return injected("clFinish").value_or(done);
}

cl_int clFlush(cl_command_queue queue) {
  REAL(clFlush);
  if (const auto code = injected("clFlush")) return *code;
  return call(queue);
}

cl_int clGetEventInfo(cl_event event, cl_event_info name, size_t size, void* value, size_t* needed) {
  REAL(clGetEventInfo);
  if (name == CL_EVENT_COMMAND_EXECUTION_STATUS) {
    if (const auto code = injected("clGetEventInfo")) {  // the command ended with this error
      *static_cast<cl_int*>(value) = *code;
      return CL_SUCCESS;
    }
  }
  return call(event, name, size, value, needed);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* data, cl_int* result) {
  REAL(clCreateBuffer);
  if (const auto code = injected("clCreateBuffer")) {
    if (result) *result = *code;
    return nullptr;
  }
  return call(context, flags, size, data, result);
}

// Passes broken source to the driver, so that its compiler reports the fault.
cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** texts, const size_t* lengths,
                                     cl_int* result) {
  REAL(clCreateProgramWithSource);
  if (!injected("clCreateProgramWithSource")) return call(context, count, texts, lengths, result);
  const char* spoilt = "this is not OpenCL C;\n";
  return call(context, 1, &spoilt, nullptr, result);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info name, size_t size, void* value, size_t* needed) {
  REAL(clGetDeviceInfo);
  const cl_int done = call(device, name, size, value, needed);
  if (name == CL_DEVICE_MAX_MEM_ALLOC_SIZE && value) {
    if (const auto bytes = injected("clGetDeviceInfo")) {  // a device with little memory
      const cl_ulong little = static_cast<cl_ulong>(*bytes);
      std::memcpy(value, &little, sizeof little);
    }
  }
  return done;
}

}  // extern "C"
