#include "engine/device/opencl/program_trials.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/device/proof/room.h"
#include "sync/long_wait.h"

namespace tandem::opencl {
namespace {

// The object of errors, and of the warning that a kernel is fatal.
std::string what_is_tried(const ProgramJob& job, const std::string& id) {
  if (job.task == ProgramJob::Task::launch) return job.kernel + " (" + job.program.options + ") on " + id;
  return "a program (" + job.program.options + ") on " + id;
}

bool is_pocl(const Handle& handle) {
  return handle.platform.getInfo<CL_PLATFORM_NAME>().starts_with("Portable Computing Language");
}

}  // namespace

// JobTrials may set files aside for PoCL alone.
ProgramTrials::ProgramTrials(const Handle& handle, std::string folder)
    : id_(handle.id),
      trials_(proof::Api::opencl, id_, is_pocl(handle),
              [number = id_.substr(id_.find(':') + 1), name = handle.device.getInfo<CL_DEVICE_NAME>(),
               folder = std::move(folder)](const proof::CompiledFiles& files) {
                return std::vector<std::string>{"programs", number, name, folder, files.record(), files.folder()};
              }) {}

void ProgramTrials::require(const ProgramJob& job) {
  const uint64_t key = key_of(id_, job);
  if (!trials_.knows(key)) trials_.require(key, what_is_tried(job, id_), write_job(job));
}

// One question for each program. A child that dies of a program loses that program alone: the next question starts a
// new child. Keys in the answers are known to go well from now on.
void ProgramTrials::keep(const std::vector<ProgramText>& programs) noexcept {
  try {
    trials_.begin_wait("a child process that keeps kernels of " + id_ + " for the next start");
    for (const ProgramText& program : programs) {
      ProgramJob job;
      job.task = ProgramJob::Task::keep;
      job.program = program;
      const auto answer = trials_.ask(write_job(job));
      if (!answer.given) {
        spdlog::info("a compiled program is not kept: the process that asked {} for it {}", id_, answer.end.in_one());
        continue;
      }
      const auto said = nlohmann::json::parse(answer.line, nullptr, false);
      if (!said.is_object()) continue;
      if (said.contains("unwritten"))
        proof::say_not_kept("compiled OpenCL programs", said["unwritten"].get<std::string>());
      for (const uint64_t key : said.value("keys", std::vector<uint64_t>{})) trials_.add(key);
    }
  } catch (const Interrupted&) {
    trials_.end_child();
  } catch (const std::exception& error) {
    spdlog::info("compiled programs are not kept: {}", error.what());
  }
}

}  // namespace tandem::opencl
