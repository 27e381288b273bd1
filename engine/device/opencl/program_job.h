// The description of a trial: a program to build, and a kernel to launch once on zeroed memory. A child process does it
// before this process does it (program_trials.h).
//
// Contract: plain values that travel between the two processes as bytes. All functions are pure. read_job() returns
// nothing for bytes that are no job.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tandem::opencl {

struct ProgramText {
  std::string text, options;  // source, and all options as clBuildProgram takes them
  bool kept = false;          // built from the form that ProgramFiles holds, and not from source
};

// An argument of a kernel: a buffer, the address of a buffer's memory, or plain bytes.
struct JobBuffer {
  uint32_t number = 0;  // index in ProgramJob::buffers
};
struct JobAddress {
  uint32_t number = 0;
};
using JobArgument = std::variant<JobBuffer, JobAddress, std::string>;

struct ProgramJob {
  enum class Task : uint8_t { build, launch, keep };
  Task task = Task::build;
  ProgramText program;
  std::string kernel;
  std::array<uint64_t, 3> global{1, 1, 1}, local{1, 1, 1};
  std::vector<uint64_t> buffers;  // their sizes in bytes
  uint64_t first_word = 0;        // first 8 bytes of the first buffer; all else is 0
  std::vector<JobArgument> arguments;
};

// For each dimension of a grid: whether it has more than 65535 work-groups. PoCL compiles another form of a kernel for
// such grids.
std::array<bool, 3> many_groups(const std::array<uint64_t, 3>& global, const std::array<uint64_t, 3>& local);

// A name for a trial on a device ("opencl:0"): jobs with one key make a driver compile, or load, the same. The key of a
// program is the key of its build.
uint64_t key_of(const std::string& device, const ProgramText& program);
uint64_t key_of(uint64_t program, const ProgramJob& job);
inline uint64_t key_of(const std::string& device, const ProgramJob& job) {
  return key_of(key_of(device, job.program), job);
}

std::string write_job(const ProgramJob& job);
std::optional<ProgramJob> read_job(std::string_view bytes);

}  // namespace tandem::opencl
