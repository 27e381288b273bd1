#include "engine/device/opencl/program_trials.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/circumstances.h"
#include "engine/device/proof/compiled_files.h"
#include "engine/device/proof/helper.h"
#include "engine/device/proof/room.h"
#include "sync/long_wait.h"

namespace tandem::opencl {
namespace {

// A matmul of a slow compiler takes 10 s on a core of its own.
constexpr int kSilences = 5;

std::string what_is_tried(const ProgramJob& job, const std::string& id) {
  if (job.task == ProgramJob::Task::launch) return job.kernel + " (" + job.program.options + ") on " + id;
  return "a program (" + job.program.options + ") on " + id;
}

}  // namespace

ProgramTrials::ProgramTrials(const Handle& handle, std::string folder)
    : id_(handle.id),
      folder_(std::move(folder)),
      helper_(proof::compiled_opencl() ? proof::find_helper() : ""),
      is_pocl_(handle.platform.getInfo<CL_PLATFORM_NAME>().starts_with("Portable Computing Language")) {}

bool ProgramTrials::knows(uint64_t key) const {
  return !tries() || known_.contains(key) || proof::compiled_opencl()->knows(key);
}

void ProgramTrials::require(const ProgramJob& job) {
  if (!tries()) return;
  proof::CompiledFiles& files = *proof::compiled_opencl();
  const uint64_t key = key_of(id_, job);
  const std::string object = what_is_tried(job, id_);
  const auto refuse = [&](const std::string& how) {
    throw FatalProgram(
        "a child process that compiled this " + how, object,
        "It is tried again after a day, after a change of the driver, or when this file is deleted: " + files.record());
  };
  for (;;) {
    if (knows(key)) return;
    if (const auto how = files.fatal(key)) refuse(*how);
    const auto answer = ask(job);
    if (answer.given) {
      if (nlohmann::json::parse(answer.line, nullptr, false).value("ok", false)) known_.insert(key);
      return;
    }
    if (const proof::Want want = proof::want_behind(answer.end, proof::written_folders()))
      throw Error("a child process could not compile this", object,
                  "It " + answer.end.in_one() + "; " + want.what + ". " + want.remedy);
    if (made_anew(answer.end)) continue;
    files.add_fatal(key, answer.end.in_one());
    refuse(answer.end.in_one());
  }
}

proof::Conversation::Answer ProgramTrials::ask(const ProgramJob& job) {
  proof::CompiledFiles& files = *proof::compiled_opencl();
  if (!child_) {
    const std::string number = id_.substr(id_.find(':') + 1);
    proof::ChildTask task{helper_,
                          {"programs", number, folder_, files.record(), files.folder()},
                          {{"TANDEM_PROVER", ""}, {"POCL_CACHE_DIR", files.folder()}},
                          kSilences * proof::silence_limit(),
                          "a child process that compiles kernels for " + id_};
    child_ = std::make_unique<proof::Conversation>(std::move(task));
  }
  return child_->ask(write_job(job));
}

// Only once: what died of files that were made by this version of the driver a moment ago dies of the program.
bool ProgramTrials::made_anew(const proof::ChildEnd& end) {
  if (!is_pocl_ || std::exchange(made_anew_, true)) return false;
  proof::CompiledFiles& files = *proof::compiled_opencl();
  const std::string name = files.set_aside();
  if (name.empty()) return false;
  known_.clear();
  child_.reset();
  spdlog::warn("what PoCL had compiled for {} is made anew, for a process that takes it {}: the old files are in {}",
               id_, end.in_one(), name);
  return true;
}

void ProgramTrials::keep(const std::vector<ProgramText>& programs) noexcept {
  try {
    for (const ProgramText& program : programs) {
      ProgramJob job;
      job.task = ProgramJob::Task::keep;
      job.program = program;
      const auto answer = ask(job);
      if (!answer.given) {
        spdlog::info("a compiled program is not kept: the process that asked {} for it {}", id_, answer.end.in_one());
        continue;
      }
      const auto said = nlohmann::json::parse(answer.line, nullptr, false);
      if (!said.is_object()) continue;
      if (said.contains("unwritten"))
        proof::say_not_kept("compiled OpenCL programs", said["unwritten"].get<std::string>());
      for (const uint64_t key : said.value("keys", std::vector<uint64_t>{})) known_.insert(key);
    }
  } catch (const Interrupted&) {
    child_.reset();
  } catch (const std::exception& error) {
    spdlog::info("compiled programs are not kept: {}", error.what());
  }
}

}  // namespace tandem::opencl
