// The child's side of JobTrials: answers one question after another until no more come. A driver that crashes ends this
// process and no other.
//
// Contract: questions come on standard input as Conversation sends them. `perform` does a job and returns its keys, or
// throws the Error that the driver reports.
//   `answer` sends one line of JSON for each question. It is {"ok": true}, with "keys" if perform asks for that. Or it
//   is {"error": text}, with "unwritten" for a file that could not be kept.
//   The next pause adds the keys to the record. serve_jobs() returns when the input has ended, or after ten seconds
//   without a question. The process ends one second after the process that asks has gone. Threads: one.
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
  bool tell = false;  // the answer contains the keys
};

// Thrown by perform if a file cannot be written.
class Unwritten : public Error {
 public:
  explicit Unwritten(const std::string& why) : Error("it cannot be written", why) {}
};

// This process sees another device under the number than the process that asks, so its trials would say nothing. The
// process ends with status kOtherDevice (helper.h).
class OtherDevice : public Error {
 public:
  OtherDevice(const std::string& id, const std::string& wanted, const std::string& found)
      : Error("a child process finds another device under this number",
              id + ": " + (found.empty() ? "none" : found) + " in the place of " + wanted) {}
};

void serve_jobs(CompiledFiles& files, const std::function<Performed(const std::string&)>& perform,
                const std::function<void(const std::string&)>& answer);

}  // namespace tandem::proof
