// Faults at the edge of a driver: a call of OpenCL or Vulkan fails once, and the driver does not see the call.
//
// A test program that links faults_opencl_api.cpp or faults_vulkan_api.cpp defines some of the API's functions itself.
// They pass every call on to the driver, except the calls that a test makes fail. The product has no hook for this.
#pragma once

#include <optional>
#include <string>

namespace tandem::testing {

// While an object lives, `times` calls of `call` after the first `skip` ones fail with `code`. Each call can have one
// object at a time.
class FailingCall {
 public:
  FailingCall(std::string call, int code, int skip = 0, int times = 1);
  ~FailingCall();
  FailingCall(const FailingCall&) = delete;
  FailingCall& operator=(const FailingCall&) = delete;
  int hits() const;  // calls that failed so far

 private:
  std::string call_;
};

// For the functions that replace the API's: the code to fail with, or nothing.
std::optional<int> injected(const char* call);

// The API's own function.
void* real_function(const char* call);
template <typename Function>
Function real(Function, const char* call) {
  return reinterpret_cast<Function>(real_function(call));
}

}  // namespace tandem::testing
