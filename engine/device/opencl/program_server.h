// The child process of ProgramTrials: builds programs, launches kernels, keeps compiled programs.
//
// Contract: serve_jobs() (proof/job_server.h) with jobs of program_job.h. proof::OtherDevice where the device of this
// number has another name.
#pragma once

#include <functional>
#include <string>

namespace tandem {

struct ProgramService {
  int device = 0;              // opencl:N
  std::string name;            // as the driver says
  std::string program_folder;  // of compiled programs; empty: none are kept
  std::string record, driver_folder;
};
void serve_programs(const ProgramService& service, const std::function<void(const std::string&)>& answer);

}  // namespace tandem
