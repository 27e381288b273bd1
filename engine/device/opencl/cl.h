// The OpenCL C++ bindings as this project uses them, and the one check every call goes through.
//
// Contract: check() throws tandem::Error naming the call, the code and the object. Exceptions of the bindings are off:
// codes are checked.
#pragma once

#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <string>

namespace tandem::opencl {

std::string code_name(cl_int code);  // "CL_OUT_OF_RESOURCES"; unknown ones as "code -123"
void check(cl_int code, const char* call, const std::string& object);

// Sets an argument of a kernel of `file`, "list.cl".
template <typename T>
void set_arg(cl::Kernel& kernel, cl_uint index, const T& value, const char* file) {
  const cl_int code = kernel.setArg(index, sizeof value, &value);
  if (code != CL_SUCCESS) check(code, "clSetKernelArg", "argument " + std::to_string(index) + " of " + file);
}

// One opened device: what every part of the runtime needs to talk to it. Handles are counted by the bindings; a copy is
// cheap.
struct Handle {
  cl::Platform platform;
  cl::Device device;
  cl::Context context;
  std::string id;             // "opencl:0", for errors
  std::string build_options;  // of every program on this device, found at start
};

}  // namespace tandem::opencl
