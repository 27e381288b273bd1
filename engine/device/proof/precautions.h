// What is known of a driver's temper when one of its devices is opened: steps that are not to be taken, because taking
// them has ended a process before (proof.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "sync/error.h"

namespace tandem {

// A device that reports no error and computes wrong values: it will do so the next time as well.
class UnfitDevice : public Error {
 public:
  using Error::Error;
};

struct Precautions {
  std::map<std::string, std::string> spared;                   // step, and what became of the process that took it
  std::function<void(const std::string& step)> before_step{};  // told of every step that is about to be taken
  // Told of a step that has shown something to be missing, so that nobody takes it again.
  std::function<void(const std::string& step, const std::string& why)> on_lack{};

  // Why `step` is not to be taken; nothing: it may be, and before_step has been told.
  std::optional<std::string> against(const std::string& step) const {
    if (const auto found = spared.find(step); found != spared.end()) return found->second;
    if (before_step) before_step(step);
    return std::nullopt;
  }
  void lacks(const std::string& step, const std::string& why) const {
    if (on_lack) on_lack(step, why);
  }
  // Somebody watches every step: this is the process that may die, and what is only tried out is tried here.
  bool watched() const { return before_step != nullptr; }
  // A step without which there is no device.
  void take(const std::string& step) const {
    if (before_step) before_step(step);
  }
};

}  // namespace tandem
