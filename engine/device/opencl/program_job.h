// A program to be built, and a kernel of it to be launched once on memory of zeros: what a child process does before
// this one does it (program_trials.h). Plain values that travel between the two.
//
// All functions are pure. read_job() gives nothing for bytes that are no job.
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
  std::string text, options;  // all of them, as clBuildProgram takes them
  bool kept = false;          // built from what ProgramFiles has of it, and not from its source
};

// An argument of a kernel: a buffer, the address of one's memory, or plain bytes.
struct JobBuffer {
  uint32_t number = 0;  // in ProgramJob::buffers
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
  uint64_t first_word = 0;        // of the first buffer; all else is 0
  std::vector<JobArgument> arguments;
};

// A driver compiles one form of a kernel for its work-group, and another where a grid has more than 65535 groups
// (PoCL).
std::array<bool, 3> many_groups(const std::array<uint64_t, 3>& global, const std::array<uint64_t, 3>& local);

// Names what is tried of a device ("opencl:0"): jobs with one key make a driver compile, or load, the same. That of a
// program is the key of its build.
uint64_t key_of(const std::string& device, const ProgramText& program);
uint64_t key_of(uint64_t program, const ProgramJob& job);
inline uint64_t key_of(const std::string& device, const ProgramJob& job) {
  return key_of(key_of(device, job.program), job);
}

std::string write_job(const ProgramJob& job);
std::optional<ProgramJob> read_job(std::string_view bytes);

}  // namespace tandem::opencl
