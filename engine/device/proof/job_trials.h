// Lets a child process compile and load first what a driver has not compiled yet. So neither a compiler nor a damaged
// file of a driver ends this process.
//
// Contract
//   A job is bytes that the child understands, and a key. Jobs of one key make a driver compile, or load, the same.
//   require() returns at once if the record (compiled_files.h) says that the job goes well with the driver's files as
//   they are. Otherwise the child does it. The driver keeps what it has compiled there, and this process loads it.
//   A child that dies is asked again with new files of PoCL's; the old files get another name, and a warning says so.
//   If it dies again, the job counts as fatal for a day, and require() throws FatalProgram. It throws Error if the
//   child lacked something of the machine's or saw another device, and Interrupted if the user asks to stop. An error
//   that the driver reports to the child is not thrown: the driver reports it to this process as well. Without a helper
//   program (helper.h) nothing is tried, and require() always returns. Threads: one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "engine/device/proof/compiled_files.h"
#include "engine/device/proof/conversation.h"
#include "engine/device/proof/verdict.h"
#include "sync/error.h"

namespace tandem::proof {

// A process that builds or launches this program dies. Another form of the program may work.
class FatalProgram : public Error {
 public:
  using Error::Error;
  std::string reason() const { return failure() + ": " + object(); }  // without what to do
};

class JobTrials {
 public:
  // id: the device's, "opencl:0". arguments: command line of the helper program. keeps: the driver is PoCL, whose files
  // may be made anew.
  using Arguments = std::function<std::vector<std::string>(const CompiledFiles&)>;
  JobTrials(Api api, std::string id, bool keeps, Arguments arguments);

  bool tries() const { return !helper_.empty(); }
  bool knows(uint64_t key) const;  // require() would return at once
  // Whether the driver's own files hold the program or kernel of this key, because it was compiled before.
  bool kept_by_driver(uint64_t key) const { return keeps_ && tries() && knows(key); }
  void require(uint64_t key, const std::string& object, std::string_view question);
  void add(uint64_t key) { known_.insert(key); }
  // The child's answer. If none was given, the child died, and `end` says how.
  Conversation::Answer ask(std::string_view question);
  // The next questions are a wait of their own, whose line names this.
  void begin_wait(const std::string& what);
  void end_child() { child_.reset(); }

 private:
  std::shared_ptr<CompiledFiles> files() const { return compiled_files(api_); }
  bool made_anew(const ChildEnd& end);

  const Api api_;
  const std::string id_, helper_;
  const Arguments arguments_;
  std::string waits_for_;
  bool keeps_ = false, made_anew_ = false;
  std::unordered_set<uint64_t> known_;  // keys that have run well since this object was made
  std::unique_ptr<Conversation> child_;
};

}  // namespace tandem::proof
