// Steps of opening a device that must be left out (proof.h): a process that took them has died, or has found something
// to be missing.
//
// Contract: copied by value. Functions that are not set do nothing. Threads: the one that opens the device.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "sync/error.h"

namespace tandem {

// A device that reports no error and computes wrong values. It would do so the next time as well.
class UnfitDevice : public Error {
 public:
  using Error::Error;
};

struct Precautions {
  std::map<std::string, std::string> spared;  // step, and why: a process died of it, or it lacks something
  // Gets every step before it is taken, and "built KEY" for each program that was built (opencl/program_cache.h).
  std::function<void(const std::string& step)> before_step{};
  // Gets a step that has shown something to be missing, so that later processes leave it out.
  std::function<void(const std::string& step, const std::string& why)> on_lack{};

  // The reason why `step` must be left out. Nothing: the caller takes it now, and before_step has been called.
  std::optional<std::string> against(const std::string& step) const {
    if (const auto found = spared.find(step); found != spared.end()) return found->second;
    if (before_step) before_step(step);
    return std::nullopt;
  }
  void lacks(const std::string& step, const std::string& why) const {
    if (on_lack) on_lack(step, why);
  }
  // A parent process watches every step. This is the child that may die, so pure experiments are made here.
  bool watched() const { return before_step != nullptr; }
  // Announces a step without which there is no device.
  void take(const std::string& step) const {
    if (before_step) before_step(step);
  }
};

}  // namespace tandem
