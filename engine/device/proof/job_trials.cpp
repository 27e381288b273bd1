#include "engine/device/proof/job_trials.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/device/proof/circumstances.h"
#include "engine/device/proof/helper.h"
#include "engine/device/proof/room.h"

namespace tandem::proof {
namespace {

// Compiling a matmul takes a slow compiler 10 s on a core of its own. So a child may be silent for five times the
// usual limit.
constexpr int kSilences = 5;

}  // namespace

JobTrials::JobTrials(Api api, std::string id, bool keeps, Arguments arguments)
    : api_(api),
      id_(std::move(id)),
      helper_(compiled_files(api) ? find_helper() : ""),
      arguments_(std::move(arguments)),
      waits_for_("a child process that compiles kernels for " + id_),
      keeps_(keeps) {}

bool JobTrials::knows(uint64_t key) const { return !tries() || known_.contains(key) || files()->knows(key); }

// Asks a child until the job is known to run well, or is known to be fatal. The loop repeats once at most, after PoCL's
// files were made anew. An error in the answer is the driver's own, and this process will get it too.
void JobTrials::require(uint64_t key, const std::string& object, std::string_view question) {
  if (!tries()) return;
  const auto refuse = [&](const std::string& how) {
    throw FatalProgram("a child process that compiled this " + how, object,
                       "It is tried again after a day, after a change of the driver, or when this file is deleted: " +
                           files()->record());
  };
  for (;;) {
    if (knows(key)) return;
    if (const auto how = files()->fatal(key)) refuse(*how);
    const auto answer = ask(question);
    if (answer.given) {
      // A driver may write lines of its own to the child's standard output.
      const auto said = nlohmann::json::parse(answer.line, nullptr, false);
      if (said.is_object() && said.value("ok", nlohmann::json()) == true) known_.insert(key);
      return;
    }
    // If the machine lacked something, the end says nothing about the job. So it is not noted as fatal.
    if (const Want want = want_behind(answer.end, written_folders()))
      throw Error("a child process could not compile this", object,
                  "It " + answer.end.in_one() + "; " + want.what + ". " + want.remedy);
    if (answer.end.status == kOtherDevice)
      throw Error("a child process could not compile this", object, "It " + answer.end.in_one());
    // A damaged file of PoCL's may be the reason. With new files the job gets a second try.
    if (made_anew(answer.end)) continue;
    files()->add_fatal(key, answer.end.in_one());
    refuse(answer.end.in_one());
  }
}

// One child serves all questions. TANDEM_PROVER is empty for it, so that it starts no child itself.
Conversation::Answer JobTrials::ask(std::string_view question) {
  if (!child_) {
    ChildTask task{helper_, arguments_(*files()), {{"TANDEM_PROVER", ""}}, kSilences * silence_limit(), waits_for_};
    if (keeps_) task.environment.emplace_back("POCL_CACHE_DIR", files()->folder());
    child_ = std::make_unique<Conversation>(std::move(task));
  }
  return child_->ask(question);
}

void JobTrials::begin_wait(const std::string& what) {
  waits_for_ = what;
  if (child_) child_->begin_wait(what);
}

// Does so only once. A child that dies with files which this version of the driver has just made dies of the program.
bool JobTrials::made_anew(const ChildEnd& end) {
  if (!keeps_ || std::exchange(made_anew_, true)) return false;
  const std::string name = files()->set_aside();
  if (name.empty()) return false;
  known_.clear();
  child_.reset();
  spdlog::warn("what PoCL had compiled for {} is made anew, for a process that takes it {}: the old files are in {}",
               id_, end.in_one(), name);
  return true;
}

}  // namespace tandem::proof
