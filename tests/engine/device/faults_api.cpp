#include "tests/engine/device/faults_api.h"

#include <dlfcn.h>

#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "sync/error.h"

namespace tandem::testing {
namespace {

struct Entry {
  int code = 0, skip = 0, times = 0, hits = 0;
};
struct FaultState {
  std::mutex mutex;
  std::map<std::string, Entry, std::less<>> calls;
};
FaultState& fault_state() {
  static FaultState one;
  return one;
}

}  // namespace

FailingCall::FailingCall(std::string call, int code, int skip, int times) : call_(std::move(call)) {
  std::lock_guard lock(fault_state().mutex);
  const bool first = fault_state().calls.emplace(call_, Entry{code, skip, times, 0}).second;
  TANDEM_CHECK(first, "this call fails already: " + call_);
}

FailingCall::~FailingCall() {
  std::lock_guard lock(fault_state().mutex);
  fault_state().calls.erase(call_);
}

int FailingCall::hits() const {
  std::lock_guard lock(fault_state().mutex);
  return fault_state().calls.at(call_).hits;
}

std::optional<int> injected(const char* call) {
  std::lock_guard lock(fault_state().mutex);
  const auto found = fault_state().calls.find(call);
  if (found == fault_state().calls.end()) return std::nullopt;
  Entry& entry = found->second;
  if (entry.skip > 0) {
    --entry.skip;
    return std::nullopt;
  }
  if (entry.times == 0) return std::nullopt;
  --entry.times;
  ++entry.hits;
  return entry.code;
}

void* real_function(const char* call) {
  void* found = dlsym(RTLD_NEXT, call);
  TANDEM_CHECK(found != nullptr, call);
  return found;
}

}  // namespace tandem::testing
