// The child's side of JobTrials: answers one question after the other, until nobody asks any more. Whatever a driver
// does to a process, it does to this one.
//
// Contract: questions come on standard input as Conversation sends them. `perform` does a job and returns its keys, or
// throws the Error that the driver reports. `answer` sends a line of JSON for each question: {"ok": true}, with "keys"
// if perform asks for that, or {"error": text}, with "unwritten" for a file that could not be kept. The next pause adds
// the keys to the record. serve_jobs() returns when the input has ended, or after ten seconds without a
// question. The process ends a second after the one that asks has gone. Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/proof/compiled_files.h"
#include "sync/error.h"

namespace tandem::proof {

struct Performed {
  std::vector<uint64_t> keys;
  bool tell = false;  // the one that asks is told the keys
};

// Thrown by perform: a file cannot be written.
class Unwritten : public Error {
 public:
  explicit Unwritten(const std::string& why) : Error("it cannot be written", why) {}
};

// This process sees another device under that number than the process that asks: nothing is said about its programs.
// The process ends with status kOtherDevice (helper.h).
class OtherDevice : public Error {
 public:
  OtherDevice(const std::string& id, const std::string& wanted, const std::string& found)
      : Error("a child process finds another device under this number",
              id + ": " + (found.empty() ? "none" : found) + " in the place of " + wanted) {}
};

void serve_jobs(CompiledFiles& files, const std::function<Performed(const std::string&)>& perform,
                const std::function<void(const std::string&)>& answer);

}  // namespace tandem::proof
