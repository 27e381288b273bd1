#include "engine/device/opencl/cl.h"

#include "sync/error.h"

namespace tandem::opencl {
namespace {

// A code and its name. Code -1001 belongs to the loader (cl_khr_icd), not to OpenCL itself.
struct Code {
  cl_int value;
  const char* name;
};
#define TANDEM_CL_CODE(name) \
  { name, #name }
constexpr Code kCodes[] = {
    TANDEM_CL_CODE(CL_SUCCESS),
    TANDEM_CL_CODE(CL_DEVICE_NOT_FOUND),
    TANDEM_CL_CODE(CL_DEVICE_NOT_AVAILABLE),
    TANDEM_CL_CODE(CL_COMPILER_NOT_AVAILABLE),
    TANDEM_CL_CODE(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    TANDEM_CL_CODE(CL_OUT_OF_RESOURCES),
    TANDEM_CL_CODE(CL_OUT_OF_HOST_MEMORY),
    TANDEM_CL_CODE(CL_PROFILING_INFO_NOT_AVAILABLE),
    TANDEM_CL_CODE(CL_MEM_COPY_OVERLAP),
    TANDEM_CL_CODE(CL_BUILD_PROGRAM_FAILURE),
    TANDEM_CL_CODE(CL_MAP_FAILURE),
    TANDEM_CL_CODE(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    TANDEM_CL_CODE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    TANDEM_CL_CODE(CL_INVALID_VALUE),
    TANDEM_CL_CODE(CL_INVALID_DEVICE_TYPE),
    TANDEM_CL_CODE(CL_INVALID_PLATFORM),
    TANDEM_CL_CODE(CL_INVALID_DEVICE),
    TANDEM_CL_CODE(CL_INVALID_CONTEXT),
    TANDEM_CL_CODE(CL_INVALID_QUEUE_PROPERTIES),
    TANDEM_CL_CODE(CL_INVALID_COMMAND_QUEUE),
    TANDEM_CL_CODE(CL_INVALID_HOST_PTR),
    TANDEM_CL_CODE(CL_INVALID_MEM_OBJECT),
    TANDEM_CL_CODE(CL_INVALID_BUILD_OPTIONS),
    TANDEM_CL_CODE(CL_INVALID_PROGRAM),
    TANDEM_CL_CODE(CL_INVALID_PROGRAM_EXECUTABLE),
    TANDEM_CL_CODE(CL_INVALID_KERNEL_NAME),
    TANDEM_CL_CODE(CL_INVALID_KERNEL_DEFINITION),
    TANDEM_CL_CODE(CL_INVALID_KERNEL),
    TANDEM_CL_CODE(CL_INVALID_ARG_INDEX),
    TANDEM_CL_CODE(CL_INVALID_ARG_VALUE),
    TANDEM_CL_CODE(CL_INVALID_ARG_SIZE),
    TANDEM_CL_CODE(CL_INVALID_KERNEL_ARGS),
    TANDEM_CL_CODE(CL_INVALID_WORK_DIMENSION),
    TANDEM_CL_CODE(CL_INVALID_WORK_GROUP_SIZE),
    TANDEM_CL_CODE(CL_INVALID_WORK_ITEM_SIZE),
    TANDEM_CL_CODE(CL_INVALID_GLOBAL_OFFSET),
    TANDEM_CL_CODE(CL_INVALID_EVENT_WAIT_LIST),
    TANDEM_CL_CODE(CL_INVALID_EVENT),
    TANDEM_CL_CODE(CL_INVALID_OPERATION),
    TANDEM_CL_CODE(CL_INVALID_BUFFER_SIZE),
    TANDEM_CL_CODE(CL_INVALID_GLOBAL_WORK_SIZE),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};
#undef TANDEM_CL_CODE

// Advice to the user about a code; "": there is none.
const char* hint(cl_int code) {
  switch (code) {
    case -1001:
    case CL_DEVICE_NOT_FOUND:
      return "Install an OpenCL driver; on Debian without a GPU: apt-get install pocl-opencl-icd";
    case CL_INVALID_BUFFER_SIZE:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
      return "The device is out of memory: use a smaller model, context or batch";
    default:
      return "";
  }
}

}  // namespace

std::string code_name(cl_int code) {
  for (const Code& known : kCodes) {
    if (known.value == code) return known.name;
  }
  return "code " + std::to_string(code);
}

void check(cl_int code, const char* call, const std::string& object) {
  if (code == CL_SUCCESS) return;
  throw Error(std::string(call) + " failed with " + code_name(code), object, hint(code));
}

}  // namespace tandem::opencl
