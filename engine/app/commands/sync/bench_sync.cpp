#include "engine/app/commands/sync/bench_sync.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/sync/bench_sync_html.h"
#include "engine/app/commands/sync/bench_sync_text.h"
#include "engine/app/commands/sync/litmus_table.h"
#include "engine/app/file_flags.h"
#include "engine/app/flag_values.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "engine/device/registry.h"
#include "engine/lab/decode_meaning.h"
#include "engine/lab/sync_json.h"
#include "engine/lab/sync_lab.h"
#include "engine/run/pass/core_layout.h"
#include "sync/affinity.h"
#include "sync/error.h"
#include "sync/long_wait.h"
#include "sync/output_file.h"
#include "sync/waiter.h"

namespace tandem::app {
namespace {

// Devices of a model's decode step: the best GPU and the NPU, as in other commands. The host if there is neither.
std::vector<std::string> default_devices() {
  std::vector<std::string> chosen;
  const std::vector<std::string> available = available_devices();
  if (!available.empty()) chosen.push_back(available.front());
  const std::string npu = first_device(DeviceKind::npu);
  if (!npu.empty() && npu != chosen.front()) chosen.push_back(npu);
  return chosen;
}

// The decode step's plan. The engine is closed before anything is measured, because its threads would occupy the
// measured cores. This thread may use every core again.
Plan decode_plan(const CommonFlags& flags) {
  std::optional<Plan> plan;
  {
    const auto engine = open_engine(flags, {64, 0, 1});
    print_notes(flags, *engine, 1);
    plan = engine->plans().planner().plan_for({1, 1}, 0);
  }
  pin_this_thread(usable_cores());
  return *plan;
}

// Each length of work counts once, in rising order. Devices use the same cores as in other commands.
sync_lab::LabOptions lab_options(const CommonFlags& flags, const BenchSyncFlags& bench) {
  sync_lab::LabOptions options;
  options.devices = flags.engine.devices;
  for (const std::string& name : bench.policies) options.policies.push_back(sync::policy_named(name));
  options.work_seconds.clear();
  for (const std::string& size : bench.sizes) options.work_seconds.push_back(parse_duration(size));
  std::ranges::sort(options.work_seconds);
  options.work_seconds.erase(std::unique(options.work_seconds.begin(), options.work_seconds.end()),
                             options.work_seconds.end());
  options.rounds = bench.rounds;
  options.quick = bench.quick;
  options.layout = lay_out_cores(usable_cores(), flags.engine.threads);
  options.device_options.gpu_cores = options.layout.gpu;
  options.device_options.npu_cores = options.layout.npu;
  options.check = [] {
    if (interrupted()) throw Interrupted();
  };
  if (!flags.quiet()) {
    options.progress = [](const std::string& what) { std::fprintf(stderr, "measuring %s\n", what.c_str()); };
  }
  return options;
}

}  // namespace

// A device that the user named must have a figure. Without names, one device with a figure is enough. If there is none,
// the message has the reasons of all devices.
void require_figures(const sync_lab::LabResult& result, bool named) {
  std::string why;
  for (const sync_lab::DeviceResult& device : result.devices) {
    if (device.has_figure()) {
      if (!named) return;
      continue;
    }
    const std::string reason = !device.problem.empty() ? device.problem
                               : device.rows.empty()   ? "nothing was measured"
                                                       : device.rows.front().reason;
    if (named) throw Error("a device could not be measured", device.id, reason);
    why += (why.empty() ? "" : "; ") + device.id + ": " + reason;
  }
  if (!named) throw Error("no device could be measured", "bench-sync", why.empty() ? "There is none" : why);
}

// Splits digits from the unit; without a unit the number is in microseconds.
double parse_duration(const std::string& text) {
  const size_t digits = text.find_last_of("0123456789.") + 1;  // 0 if there is no digit
  // The largest number that is read is a second in this unit.
  const std::string unit = text.substr(digits);
  const double scale = unit.empty() || unit == "us" ? 1e-6 : unit == "ms" ? 1e-3 : unit == "s" ? 1 : 0;
  const auto number = scale > 0 ? read_number(text.substr(0, digits), 0, 1 / scale) : std::nullopt;
  if (!number)
    throw Error("this is no length of a step", "'" + text + "'", "Say 0, 250us, 1.5ms, 1s; at most a second");
  return *number * scale;
}

// The plan is made before anything is measured, because opening an engine uses the cores. The report is written even if
// some device has no figures; the error comes last. Without --device all devices of the machine are measured, but the
// model's decode step uses only those that other commands would open.
int bench_sync_command(const CommonFlags& given, const BenchSyncFlags& bench) {
  apply_verbosity(given);
  CommonFlags flags = given;
  sync_lab::LabOptions options = lab_options(flags, bench);
  configure_drivers(options.device_options);
  if (bench.litmus) return litmus_command(flags, options.device_options, bench.iterations);
  const bool named = !options.devices.empty();
  if (!named) options.devices = available_devices();
  if (!named) flags.engine.devices = default_devices();
  const auto names = [&](DeviceKind kind) {
    return std::ranges::any_of(flags.engine.devices, [&](const std::string& id) { return device_kind(id) == kind; });
  };
  // The plan `tensor` cuts matmuls between a GPU and an NPU. With fewer devices `auto` takes its place, unless the user
  // asked for a plan.
  if (bench.chooses_plan && !(names(DeviceKind::gpu) && names(DeviceKind::npu))) flags.engine.plan = "auto";
  std::optional<Plan> plan;
  if (!flags.model.empty()) plan = decode_plan(flags);
  sync_lab::LabResult result = sync_lab::run_sync_lab(options);
  if (plan) {  // the file's name only: reports are passed on, and the folder is private
    const std::string name = std::filesystem::path(flags.model).filename().string();
    result.decode = sync_lab::decode_meaning(name, *plan, result);
  }

  if (!bench.html.empty()) write_output(bench.html, sync_html(result), while_unread(bench.html));
  if (flags.json) {
    print_json(sync_lab::sync_json(result));
  } else {
    std::cout << sync_text(result);
    if (!bench.html.empty() && !flags.quiet()) std::cerr << "report written to " << bench.html << "\n";
  }
  require_figures(result, named);
  return result.lost_steps() ? kFailed : kDone;
}

// is_given() tells an unset --plan from one that names the default, because only the unset one may be replaced.
void add_bench_sync(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<BenchSyncFlags>>();
  flags->common.engine.plan = "tensor";
  add_device_flag(app, flags->common);
  app.add_option("--policies", flags->own.policies, "waiting policies to measure, comma separated; default: all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(sync::waiter_names()));
  app.add_option("--sizes", flags->own.sizes, "lengths of a step's work, comma separated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](const std::string& text) -> std::string {
            try {
              parse_duration(text);
              return "";
            } catch (const Error& error) {
              return error.what();
            }
          },
          "DURATION"))
      ->capture_default_str();
  app.add_option("--rounds", flags->own.rounds, "steps of each row; 0: by their length")
      ->transform(whole({0, 1000000}))
      ->capture_default_str();
  app.add_flag("--quick", flags->own.quick, "few rounds: shows that everything works, and roughly how fast");
  writes_file(app.add_option("--html", flags->own.html, "write a report with plots to this file"));
  app.add_flag("--litmus", flags->own.litmus, "test memory ordering between every two processors instead");
  app.add_option("--iterations", flags->own.iterations, "of each litmus test: how often both sides are at it at once")
      ->transform(whole({1, 1000000000}))
      ->capture_default_str();
  reads_file(
      app.add_option("-m,--model", flags->common.model, "say what this model's decode step gains by each policy"));
  add_plan_flag(app, flags->common, "the plan of that decode step");
  add_threads_flag(app, flags->common.engine.threads);
  add_output_flags(app, flags->common);
  app.callback([flags, &action, &app] {
    flags->own.chooses_plan = !is_given(*app.get_option("--plan"));
    action = [flags] { return bench_sync_command(flags->common, flags->own); };
  });
}

}  // namespace tandem::app
