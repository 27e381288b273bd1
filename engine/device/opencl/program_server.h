// What a child process does for ProgramTrials: builds programs, launches kernels, keeps compiled programs, one after
// the other, until nobody asks any more. Whatever a driver does to a process, it does to this one.
//
// Contract: questions are jobs (program_job.h) on standard input, as Conversation sends them; `answer` is given a line
// of JSON for each: {"ok": true}, or {"error": text} where the driver reports one. Jobs that went well are added to the
// record (proof/compiled_files.h) in the next pause. Returns when the input has ended, or after ten
// seconds without a question. Threads: one.
#pragma once

#include <functional>
#include <string>

#include "engine/device/proof/compiled_files.h"

namespace tandem {

struct ProgramService {
  int device = 0;              // opencl:N
  std::string program_folder;  // of compiled programs; empty: none are kept
  std::string record, driver_folder;
};
void serve_programs(const ProgramService& service, const std::function<void(const std::string&)>& answer);

}  // namespace tandem
