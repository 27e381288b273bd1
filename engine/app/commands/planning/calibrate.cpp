// `tandem calibrate`: measures this machine once and writes a profile that `plan --soc` can read. Several rounds
// are averaged, because a virtual machine's speed changes by the minute.
#include "engine/app/commands/planning/calibrate.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/planning/profile.h"
#include "engine/app/file_flags.h"
#include "engine/app/report.h"
#include "engine/lab/machine.h"
#include "engine/measure/calibrate.h"
#include "engine/run/choice/contention.h"
#include "sync/error.h"
#include "sync/output_file.h"

namespace tandem::app {
namespace {

// Several tokens, but few enough that the cost of waiting stands out.
constexpr int64_t kTokensOfAPrompt = 16;

// A virtual machine's cores change their speed for seconds at a time, depending on other machines.
constexpr int kRounds = 3;

// Keys of the profile that the command prints.
constexpr const char* kShown[] = {"memory.shared_bytes_per_second",
                                  "gpu.flops",
                                  "gpu.attention_flops",
                                  "gpu.decode_attention_flops",
                                  "gpu.bytes_per_second",
                                  "gpu.submit_seconds",
                                  "gpu.submit_empty_seconds",
                                  "npu.bytes_per_second",
                                  "npu.clock_hz",
                                  "sync.fast_seconds"};

// UTC, so the date does not depend on where the machine stands.
std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

// Errors that are known in advance come before anything is measured.
void require_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
    throw Error("cannot write the profile", path, "There is no folder " + folder.string());
}

// The first NPU, or the first device that is no NPU. A profile describes two processors. Whatever is no NPU stands for
// its GPU, so a machine without a GPU is measured with the host.
Device& first_device(const Engine& engine, bool npu) {
  for (const auto& device : engine.machine().devices())
    if ((device->info().kind == DeviceKind::npu) == npu) return *device;
  throw Error(npu ? "a profile needs an NPU" : "a profile needs a GPU, or the host in its place",
              engine.machine().device_names(), "Name both with --device");
}

// Measures everything once, even known points. Absent if it was interrupted. A cache without a file knows no earlier
// values and keeps none. The chain of cut matmuls shows what waiting for each other costs (H7), once for a single token
// and once for several.
std::optional<MachineMeasurements> measured_round(const CommonFlags& flags, Engine& engine, Device& gpu, Device& npu,
                                                  int64_t& points) {
  DiskCache scratch("");
  const Measurer measurer{engine.machine().executor(), scratch};
  const Profile profile = measure_points(flags, profile_tasks(engine, measurer, true), scratch, false);
  if (profile.interrupted) return std::nullopt;
  points += profile.measured;
  MachineMeasurements measured = measurements_of(profile.rows, gpu.info().id, npu.info().id);
  const auto chain = [&](int64_t tokens) {
    return measure_cut_chain(measurer.executor, gpu, npu, engine.plans().operators_for({tokens, 1}));
  };
  const CutChain token = chain(1);
  measured.shared_bytes_per_second = token.bytes_per_second;
  measured.token_join_seconds = token.join_seconds;
  measured.prompt_join_seconds = chain(kTokensOfAPrompt).join_seconds;
  return measured;
}

}  // namespace

// Several rounds are averaged. A note warns if other processes used the cores meanwhile. Every round measures the same
// points in the same order, as mean_of() requires. The result is a profile like that of a described chip, and the model
// clock reads both in the same way.
int calibrate_command(const CommonFlags& flags, const CalibrateFlags& calibrate) {
  apply_verbosity(flags);
  require_folder_of(calibrate.output);
  const auto engine = open_for_profile(flags, true);
  print_notes(flags, *engine, 1);  // notes about texts do not apply here
  Device &gpu = first_device(*engine, false), &npu = first_device(*engine, true);
  const ContentionWatch watch;
  std::vector<MachineMeasurements> rounds;
  int64_t points = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto round = measured_round(flags, *engine, gpu, npu, points);
    if (!round) return kInterrupted;
    rounds.push_back(*round);
  }
  MachineMeasurements measured = mean_of(rounds);
  if (watch.found() && !flags.quiet())
    std::fprintf(stderr, "others had the cores while this was measured: calibrate again when they are done\n");
  measured.npu_graph_tokens = EngineOptions{}.graph_tokens;
  measured.machine = sync_lab::read_machine_facts().processor;
  measured.date = today();
  const SocProfile machine = machine_profile(measured);
  write_output(calibrate.output, to_json(machine), while_unread(calibrate.output));
  if (flags.json) {
    print_json({{"schema", 1}, {"profile", calibrate.output}, {"measured_points", points}});
    return kDone;
  }
  std::printf("%s: %s, from %lld points\n\n| key | value |\n| --- | ---: |\n", calibrate.output.c_str(),
              machine.description.c_str(), static_cast<long long>(points));
  for (const char* key : kShown) std::printf("| %s | %.4g |\n", key, number_of(machine, key));
  std::printf("\nTake it with --soc %s\n", calibrate.output.c_str());
  return kDone;
}

}  // namespace tandem::app
