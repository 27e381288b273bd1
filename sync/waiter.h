// Waiting policies of the host for a flag (H7). Each is a small struct with the same two calls; all of them have a
// deadline.
//
// Contract
//   wait() returns when the flag reached the epoch, and throws tandem::Error naming step, flag, device, wanted and seen
//   epoch when the deadline passes or the flag failed. predicted_seconds is the expected time from now (<= 0: unknown).
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

namespace tandem::sync {

// Of every wait, unless whoever waits says otherwise: longer than any step that a slow device may be busy with.
inline constexpr std::chrono::milliseconds kWaitDeadline{120000};

struct WaitContext {
  std::string_view step;    // for the error message
  std::string_view device;  // who is expected to raise the flag
  double predicted_seconds = 0;
  std::chrono::milliseconds deadline = kWaitDeadline;
  std::string_view advice;  // for the error message when it passes: what can be done about it
  // Blocks (without using the core) until the signaller has made progress, e.g. clFinish; empty: futex on the flag.
  std::function<void(std::chrono::milliseconds)> block;
};

struct WaitReport {
  double seconds = 0;       // wall time spent waiting; 0: below a microsecond, and not measured
  double spun_seconds = 0;  // of it: with the core busy
  bool overslept = false;   // the flag was already up when a predicted sleep ended: the true time is shorter
};

class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual WaitReport wait(const Flag& flag, uint32_t epoch, const WaitContext& context) = 0;
};

// The policies (docs/sync.md). The last two differ from `spin` in how work is handed over, not in how its end is seen.
enum class Policy : uint8_t { blocking, event, spin, predict, gate, doorbell };
inline constexpr Policy kPolicies[] = {Policy::blocking, Policy::event, Policy::spin,
                                       Policy::predict,  Policy::gate,  Policy::doorbell};

std::string name_of(Policy policy);          // "blocking"
Policy policy_named(std::string_view name);  // Error that lists them
std::vector<std::string> waiter_names();     // of all policies, in their order
std::unique_ptr<Waiter> make_waiter(Policy policy);

}  // namespace tandem::sync
