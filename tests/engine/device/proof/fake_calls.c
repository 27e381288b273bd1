// This library is loaded before a real driver (LD_PRELOAD). Some calls end the process, others return false results.
//   TANDEM_FAKE_BUILD=TEXT    clBuildProgram aborts if its options contain TEXT
//   TANDEM_FAKE_OPTIONS=TEXT  clBuildProgram adds these options
//   TANDEM_FAKE_KEPT=TEXT     clGetProgramInfo aborts if it must return the compiled form of a source with TEXT
//   TANDEM_FAKE_LAUNCH=TEXT   clEnqueueNDRangeKernel aborts if the kernel's name begins with TEXT
//   TANDEM_FAKE_MAP=1         clEnqueueMapBuffer accesses memory that is not there
//   TANDEM_FAKE_COUNT=N       every read of a single word returns N
//   TANDEM_FAKE_CONTEXT=WHAT  clCreateContext does WHAT: abort, hang
//   TANDEM_FAKE_SHADER=BYTES  vkCreateShaderModule aborts if the code has this length
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#define REAL(name) __typeof__(&name) call = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                      void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  const char* fatal = getenv("TANDEM_FAKE_BUILD");
  if (fatal && options && strstr(options, fatal)) {
    fprintf(stderr, "Unexpected intrinsic in %s\n", options);
    abort();
  }
  REAL(clBuildProgram);
  char all[4096];
  const char* more = getenv("TANDEM_FAKE_OPTIONS");
  snprintf(all, sizeof all, "%s %s", options ? options : "", more ? more : "");
  return call(program, count, devices, more ? all : options, notify, data);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                              const size_t* global, const size_t* local, cl_uint waits, const cl_event* list,
                              cl_event* event) {
  const char* fatal = getenv("TANDEM_FAKE_LAUNCH");
  char name[256] = "";
  if (fatal) clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
  if (fatal && !strncmp(name, fatal, strlen(fatal))) {
    fprintf(stderr, "Cannot select: %s\n", name);
    abort();
  }
  REAL(clEnqueueNDRangeKernel);
  return call(queue, kernel, dimensions, offset, global, local, waits, list, event);
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t size, void* value, size_t* used) {
  REAL(clGetProgramInfo);
  const char* fatal = getenv("TANDEM_FAKE_KEPT");
  size_t bytes = 0;
  if (fatal && what == CL_PROGRAM_BINARIES && call(program, CL_PROGRAM_SOURCE, 0, NULL, &bytes) == CL_SUCCESS) {
    char* source = calloc(bytes + 1, 1);
    call(program, CL_PROGRAM_SOURCE, bytes, source, NULL);
    if (strstr(source, fatal)) abort();
    free(source);
  }
  return call(program, what, size, value, used);
}

void* clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                         size_t size, cl_uint waits, const cl_event* list, cl_event* event, cl_int* code) {
  if (getenv("TANDEM_FAKE_MAP")) *(volatile int*)0 = 0;
  REAL(clEnqueueMapBuffer);
  return call(queue, buffer, blocking, flags, offset, size, waits, list, event, code);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                           void* into, cl_uint waits, const cl_event* list, cl_event* event) {
  REAL(clEnqueueReadBuffer);
  const cl_int code = call(queue, buffer, blocking, offset, size, into, waits, list, event);
  const char* count = getenv("TANDEM_FAKE_COUNT");
  if (count && size == sizeof(cl_uint)) *(cl_uint*)into = (cl_uint)atoi(count);
  return code;
}

cl_context clCreateContext(const cl_context_properties* properties, cl_uint count, const cl_device_id* devices,
                           void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* data,
                           cl_int* code) {
  const char* what = getenv("TANDEM_FAKE_CONTEXT");
  if (what && !strcmp(what, "abort")) abort();
  while (what && !strcmp(what, "hang")) pause();
  REAL(clCreateContext);
  return call(properties, count, devices, notify, data, code);
}

VkResult vkCreateShaderModule(VkDevice device, const VkShaderModuleCreateInfo* info,
                              const VkAllocationCallbacks* allocator, VkShaderModule* module) {
  const char* fatal = getenv("TANDEM_FAKE_SHADER");
  if (fatal && info->codeSize == strtoull(fatal, NULL, 10)) {
    fprintf(stderr, "invalid SPIR-V\n");
    abort();
  }
  REAL(vkCreateShaderModule);
  return call(device, info, allocator, module);
}
