// The OpenCL C++ bindings as this project uses them, and the check() that every call goes through.
//
// Contract: check() throws tandem::Error with the call, the code and the object. Exceptions of the bindings are off, so
// the code of every call is checked. Threads: any.
#pragma once

#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <string>

namespace tandem::opencl {

std::string code_name(cl_int code);  // "CL_OUT_OF_RESOURCES"; unknown ones as "code -123"
void check(cl_int code, const char* call, const std::string& object);

// Calls enqueue(), and waits for everything in the queue. If a call fails, it waits too, and then throws the Error:
// commands may still use memory that is freed after an Error. object: for errors.
template <typename Enqueue>
void run_queued(const cl::CommandQueue& queue, const std::string& object, const Enqueue& enqueue) {
  try {
    enqueue();
    check(queue.finish(), "clFinish", object);
  } catch (...) {
    queue.finish();  // a queue that is lost returns at once
    throw;
  }
}

// Sets an argument of a kernel. file: the kernel's source, for errors: "list.cl".
template <typename T>
void set_arg(cl::Kernel& kernel, cl_uint index, const T& value, const char* file) {
  const cl_int code = kernel.setArg(index, sizeof value, &value);
  if (code != CL_SUCCESS) check(code, "clSetKernelArg", "argument " + std::to_string(index) + " of " + file);
}

// One opened device, with the objects that every part of the runtime needs. The bindings count references to them, so a
// copy is cheap.
struct Handle {
  cl::Platform platform;
  cl::Device device;
  cl::Context context;
  std::string id;             // "opencl:0", for errors
  std::string build_options;  // options of every program on this device, found at start
};

}  // namespace tandem::opencl
