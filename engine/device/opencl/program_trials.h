// Lets a child process build every program, and launch every kernel once, before this process does: no compiler, and no
// file that a driver has kept, ends this process.
//
// Contract
//   require() returns at once where it is known that the job goes well with the driver's files as they are
//   (proof/compiled_files.h). Otherwise a child does it first (program_server.h), which leaves what it has compiled in
//   the driver's own files, so that this process only loads it. A child that dies is asked again with files of the
//   driver's made anew: those it had get another name, and a warning says so. If it dies again, the job counts as
//   fatal for a day, and FatalProgram is thrown. Error where it died for want of something of the machine's. Where
//   the driver reports an error, nothing is thrown: this process is told the same. Interrupted where the user asks to
//   stop. Without a helper program (proof/helper.h) nothing is tried, and require() always returns. Threads: one.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/device/opencl/cl.h"
#include "engine/device/opencl/program_job.h"
#include "engine/device/proof/conversation.h"
#include "sync/error.h"

namespace tandem::opencl {

// Whoever builds or launches it dies. Another form of it may do.
class FatalProgram : public Error {
 public:
  using Error::Error;
  std::string reason() const { return failure() + ": " + object(); }  // without what to do
};

class ProgramTrials {
 public:
  // folder: of compiled programs, as ProgramFiles has it.
  ProgramTrials(const Handle& handle, std::string folder);

  bool tries() const { return !helper_.empty(); }
  bool knows(uint64_t key) const;  // that require() would return at once
  void require(const ProgramJob& job);
  // Has a child keep the compiled programs; what the driver or the disk refuses is logged. Nothing is thrown.
  void keep(const std::vector<ProgramText>& programs) noexcept;

 private:
  // The child's answer; nothing: it died of it, as end says.
  proof::Conversation::Answer ask(const ProgramJob& job);
  bool made_anew(const proof::ChildEnd& end);

  const std::string id_, folder_, helper_;
  bool is_pocl_ = false, made_anew_ = false;
  std::unordered_set<uint64_t> known_;  // that went well since this began
  std::unique_ptr<proof::Conversation> child_;
};

}  // namespace tandem::opencl
