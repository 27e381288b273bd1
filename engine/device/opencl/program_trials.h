// Jobs of OpenCL programs that a child process does first (proof/job_trials.h): it builds a program, or launches a
// kernel of it. The child (program_server.h) also keeps compiled programs.
//
// Contract: as JobTrials. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "engine/device/opencl/cl.h"
#include "engine/device/opencl/program_job.h"
#include "engine/device/proof/job_trials.h"

namespace tandem::opencl {

using proof::FatalProgram;

class ProgramTrials {
 public:
  // folder: that of compiled programs, as ProgramFiles has it.
  ProgramTrials(const Handle& handle, std::string folder);

  bool tries() const { return trials_.tries(); }
  bool knows(uint64_t key) const { return trials_.knows(key); }
  bool kept_by_driver(uint64_t key) const { return trials_.kept_by_driver(key); }
  void require(const ProgramJob& job);
  // Lets a child keep the compiled programs. Refusals of the driver or the disk are logged. Nothing is thrown.
  void keep(const std::vector<ProgramText>& programs) noexcept;

 private:
  const std::string id_;
  proof::JobTrials trials_;
};

}  // namespace tandem::opencl
