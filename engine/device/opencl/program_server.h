// The child process of ProgramTrials: builds programs, launches kernels, and keeps compiled programs.
//
// Contract: serves jobs of program_job.h by serve_jobs() (proof/job_server.h). Throws proof::OtherDevice if the device
// of this number has another name.
#pragma once

#include <functional>
#include <string>

namespace tandem {

struct ProgramService {
  int device = 0;              // opencl:N
  std::string name;            // the device's name, as the driver says
  std::string program_folder;  // folder of compiled programs; "": none are kept
  std::string record, driver_folder;
};
void serve_programs(const ProgramService& service, const std::function<void(const std::string&)>& answer);

}  // namespace tandem
