// `tandem profile`: what every operator costs on every device, measured once and kept on disk.
#include "engine/app/commands/planning/profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/app/command.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/planning/profile_report.h"
#include "engine/app/interrupt.h"
#include "engine/app/progress.h"
#include "engine/app/report.h"
#include "engine/measure/profiler.h"

namespace tandem::app {
namespace {

// Tokens with logits: the output's matmul can be measured up to so many rows of tokens.
constexpr int64_t kOutputs = 32;
constexpr int64_t kOtherTokens[] = {1, 8, 64, 256, 1024}, kQuickOtherTokens[] = {1, 128};
constexpr int64_t kDepths[] = {0, 256, 1024}, kQuickDepths[] = {0, 256};

// A kind without a number, such as "npu", names all devices of the kind. Parameters behind `?` are no part of a
// device's name.
bool asked_for(const CommonFlags& flags, const std::string& device) {
  return flags.engine.devices.empty() || std::ranges::any_of(flags.engine.devices, [&](const std::string& id) {
           const std::string name = id.substr(0, id.find('?'));
           return device == name || device.starts_with(name + ":");
         });
}

}  // namespace

// The plan is one that the named devices can run. It does not matter for measurements, which place each
// operator themselves. The context has room for a chunk behind the largest depth. Activations are f16, which the
// NPU needs.
std::unique_ptr<Engine> open_for_profile(const CommonFlags& flags, bool quick) {
  const int64_t chunk = flags.engine.chunk > 0 ? flags.engine.chunk : quick ? 128 : 1024;
  const int64_t context = chunk + (quick ? kQuickDepths[1] : kDepths[2]);
  CommonFlags own = flags;
  const auto names = [&](DeviceKind kind) {
    return std::ranges::any_of(own.engine.devices, [&](const std::string& id) { return device_kind(id) == kind; });
  };
  const bool has_gpu = names(DeviceKind::gpu);
  if (!own.engine.devices.empty() && !has_gpu && !names(DeviceKind::host))
    own.engine.devices.push_back(first_device(DeviceKind::host));
  own.engine.plan = own.engine.devices.empty() ? "layer" : has_gpu ? "gpu-only" : "host-only";
  own.act = "f16";
  return open_engine(own, {context, chunk, std::min(chunk, kOutputs)});
}

// Matmuls come from a decode pass, whose buffers hold a whole chunk. Other operators are measured with several numbers
// of tokens, each after several depths. Operators that are alike have one key, so each is measured once.
std::vector<ProfileTask> profile_tasks(Engine& engine, const Measurer& measurer, bool quick) {
  const ProfileOptions options{quick};
  const Batch decode{1, 1};
  std::vector<ProfileTask> tasks =
      matmul_tasks(measurer, engine.machine().devices(), engine.plans().operators_for(decode), options);
  // Buffers are whole pages, so they may hold more tokens than the chunk.
  std::erase_if(tasks, [&](const ProfileTask& task) { return task.row.S > engine.sizes().tokens; });
  std::set<std::string> seen;  // the last norm has one token in every pass
  const auto append = [&](std::vector<ProfileTask> more) {
    for (ProfileTask& task : more) {
      if (seen.insert(task.key).second) tasks.push_back(std::move(task));
    }
  };
  const auto tokens = quick ? std::span<const int64_t>(kQuickOtherTokens) : kOtherTokens;
  const auto depths = quick ? std::span<const int64_t>(kQuickDepths) : kDepths;
  for (const int64_t S : tokens) {
    if (S > engine.sizes().tokens) continue;
    for (const int64_t past : depths) {
      if (past + S > engine.sizes().context) continue;
      append(other_tasks(measurer, engine.machine().devices(), engine.plans().operators_for({S, 1}), past, options));
    }
  }
  return tasks;
}

// Points that are on disk already cost nothing, so an interrupted profile goes on where it stopped.
Profile measure_points(const CommonFlags& flags, std::span<const ProfileTask> tasks, DiskCache& cache, bool again) {
  Progress progress("measuring", ProgressUnit::points, !flags.quiet() && Progress::stderr_is_terminal());
  ProfileRun run;
  run.again = again;
  run.interrupted = [] { return interrupted(); };
  run.progress = [&](int64_t done, int64_t total) {
    progress.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  };
  Profile profile = run_profile(tasks, cache, run);
  progress.clear();
  return profile;
}

// All points of the model are listed first. Points of devices that the user did not name are dropped. Every point is
// saved when it is measured. So an interrupted run still reports its points, and the next run continues there.
int profile_command(const CommonFlags& flags, const ProfileFlags& profile) {
  apply_verbosity(flags);
  const auto engine = open_for_profile(flags, profile.quick);
  print_notes(flags, *engine, std::max<int64_t>(1, flags.engine.chunk));
  std::vector<ProfileTask> tasks =
      profile_tasks(*engine, {engine->machine().executor(), engine->machine().measurements()}, profile.quick);
  std::erase_if(tasks, [&](const ProfileTask& task) { return !asked_for(flags, task.row.device); });
  const Profile result = measure_points(flags, tasks, engine->machine().measurements(), profile.again);
  const ProfileReport report = report_on(result, engine->machine().infos());
  if (flags.json) {
    print_json(to_json(report));
  } else {
    print_profile(report);
  }
  return result.interrupted ? kInterrupted : kDone;
}

}  // namespace tandem::app
