#include "engine/app/commands/calibrate.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/app/command.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/profile.h"
#include "engine/app/report.h"
#include "engine/run/calibrate.h"
#include "engine/run/sync_lab/machine.h"
#include "engine/run/whole_file.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

constexpr const char* kShown[] = {"memory.shared_bytes_per_second",
                                  "gpu.flops",
                                  "gpu.attention_flops",
                                  "gpu.bytes_per_second",
                                  "gpu.submit_seconds",
                                  "npu.bytes_per_second",
                                  "npu.clock_hz",
                                  "sync.fast_seconds"};

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

// The first NPU, or the first device that is none.
Device& first_device(const Engine& engine, bool npu) {
  for (const auto& device : engine.opened())
    if ((device->info().kind == DeviceKind::npu) == npu) return *device;
  throw Error(npu ? "a profile needs an NPU" : "a profile needs a GPU, or the host in its place", engine.device_names(),
              "Name both with --device");
}

// Both run it.
MatMul smallest_matmul(const Engine& engine, const Device& gpu, const Device& npu) {
  const MatMul* smallest = nullptr;
  const std::vector<Operator> operators = engine.operators_for({1, 1});
  for (const Operator& op : operators) {
    const auto* matmul = std::get_if<MatMul>(&op.body);
    if (matmul && gpu.supports(op).yes && npu.supports(op).yes && (!smallest || matmul->K < smallest->K))
      smallest = matmul;
  }
  if (!smallest) throw Error("no matmul runs on both devices", gpu.info().id + ", " + npu.info().id);
  return *smallest;
}

}  // namespace

int calibrate_command(const CommonFlags& flags, const CalibrateFlags& calibrate) {
  const auto engine = open_for_profile(flags, true);
  print_notes(flags, *engine);
  Device &gpu = first_device(*engine, false), &npu = first_device(*engine, true);
  DiskCache scratch("");  // measured now, whatever is known already
  const Measurer measurer{engine->measurer().executor, scratch};
  const Profile profile = measure_points(flags, profile_tasks(*engine, measurer, true), scratch, false);
  if (profile.interrupted) return kInterrupted;
  MachineMeasurements measured = measurements_of(profile.rows, gpu.info().id, npu.info().id);
  measured.crossing_seconds = measure_crossing(measurer.executor, gpu, npu, smallest_matmul(*engine, gpu, npu));
  measured.npu_graph_tokens = EngineOptions{}.graph_tokens;
  measured.machine = sync_lab::read_machine_facts().processor;
  measured.date = today();
  const SocProfile machine = machine_profile(measured);
  write_whole_file(calibrate.output, to_json(machine));
  if (flags.json) {
    print_json({{"schema", 1}, {"profile", calibrate.output}, {"measured_points", profile.measured}});
    return kDone;
  }
  std::printf("%s: %s, from %lld points\n\n| key | value |\n| --- | ---: |\n", calibrate.output.c_str(),
              machine.description.c_str(), static_cast<long long>(profile.measured));
  for (const char* key : kShown) std::printf("| %s | %.4g |\n", key, number_of(machine, key));
  std::printf("\nTake it with --soc %s\n", calibrate.output.c_str());
  return kDone;
}

}  // namespace tandem::app
