// The host's policies of waiting for a flag (H7). Each policy is a small class with one call.
//
// Contract
//   wait() returns when the flag has reached the epoch. It throws tandem::Error when the deadline passes or the flag
//   fails. The error names step, flag, device, wanted epoch and seen epoch. predicted_seconds is the expected time from
//   now (<= 0: unknown).
//   Threads: a waiter object belongs to one thread. Waiters never spin without a bound: spin -> yield -> block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sync/flag.h"
#include "tandem/types.h"

namespace tandem::sync {

struct WaitContext {
  std::string_view step;    // for the error message
  std::string_view device;  // the device that should raise the flag
  double predicted_seconds = 0;
  std::chrono::milliseconds deadline = kWaitDeadline;
  std::string_view advice;  // for the error message when the deadline passes: what the user can do about it
  // Blocks without using the core until the signaller has made progress, e.g. clFinish; empty: futex on the flag.
  std::function<void(std::chrono::milliseconds)> block;
  bool shares_core = false;  // another thread works on this core: it is left after a short spin
};

struct WaitReport {
  double seconds = 0;       // wall time spent waiting; 0: less than a microsecond, not measured
  double spun_seconds = 0;  // the part of `seconds` with the core busy
  bool overslept = false;   // the flag was already up when a predicted sleep ended: the true time is shorter
};

class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual WaitReport wait(const Flag& flag, uint32_t epoch, const WaitContext& context) = 0;
};

inline constexpr Policy kPolicies[] = {Policy::blocking, Policy::event, Policy::spin,
                                       Policy::predict,  Policy::gate,  Policy::doorbell};

std::string name_of(Policy policy);          // "blocking"
Policy policy_named(std::string_view name);  // Error lists the names
std::vector<std::string> waiter_names();     // of all policies, in their order
std::unique_ptr<Waiter> make_waiter(Policy policy);

}  // namespace tandem::sync
