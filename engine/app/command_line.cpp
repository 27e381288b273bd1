#include "engine/app/command_line.h"

#include <spdlog/cfg/helpers.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/app/commands/bench_sync.h"
#include "engine/app/commands/commands.h"
#include "engine/app/commands/expert_use.h"
#include "engine/app/commands/tokenize.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#ifdef TANDEM_HAS_NPU_GEMM_COMMAND
#include "engine/app/commands/npu_gemm.h"
#endif
#include "engine/run/engine.h"
#include "sync/error.h"

namespace tandem::app {

namespace {

constexpr const char* kDescription =
    "Tandem runs language models on a GPU and an NPU that share one memory.\n"
    "`tandem COMMAND --help` tells a command's flags.";

constexpr const char* kFooter =
    "Environment:\n"
    "  TANDEM_MODEL        the model file when there is no -m\n"
    "  TANDEM_DEVICE       the devices when there is no --device\n"
    "  TANDEM_COMPILE      --compile of `tandem run`: background (default) or now\n"
    "  TANDEM_LOG          log level: trace, debug, info, warn (default), error, off\n"
    "  REQUIRE_OPENCL=1    `tandem devices` fails without an OpenCL device (REQUIRE_VULKAN=1: without a Vulkan one)\n"
    "Exit status: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted.";

#ifdef TANDEM_HAS_NPU_GEMM_COMMAND
void add_npu(CLI::App& app, Action& action) {
  app.require_subcommand(1);
  add_npu_gemm(
      *app.add_subcommand("gemm", "one matrix product on the emulated array: cycles, utilisation, checked result"),
      action);
}
#endif

// Whether the user asked for machine-readable output, also when the command line could not be understood.
bool asks_for_json(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

// The command that the command line is for: none of the program's own flags takes a value, so the first command's name
// is that. Only its flags are declared: those of all together take the parser longer than all else until the action,
// and what the environment says for one command is no business of another. Null: none is named, only their list may be
// asked for.
const Command* named_command(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    for (const Command& command : commands()) {
      if (std::string_view(argv[i]) == command.name) return &command;
    }
  }
  return nullptr;
}

// -np stands for --parallel, as in other programs; the parser has no short names of two letters.
std::vector<std::string> spelled_out(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i)  // as the parser takes them
    arguments.emplace_back(std::string_view(argv[i]) == "-np" ? "--parallel" : argv[i]);
  return arguments;
}

void set_up_log() {
  auto log = std::make_shared<spdlog::logger>("tandem", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  log->set_pattern("%^%l%$: %v");
  spdlog::set_default_logger(log);
  spdlog::set_level(spdlog::level::warn);
  if (const char* levels = std::getenv("TANDEM_LOG")) spdlog::cfg::helpers::load_levels(levels);
}

int act(const Action& action, bool json) {
  try {
    return action();
  } catch (const Engine::Interrupted&) {
    return kInterrupted;
  } catch (const Error& error) {
    report_error(error, json);
  } catch (const std::bad_alloc&) {
    report_error(Error("out of memory", "this process", "Take a smaller model or a smaller --ctx-size"), json);
  } catch (const std::exception& error) {
    report_error(
        Error("unexpected failure", error.what(), "This is a defect of Tandem; please report it with the command line"),
        json);
  }
  return interrupted() ? kInterrupted : kFailed;
}

}  // namespace

std::span<const Command> commands() {
  static const Command table[] = {
      {"run", "let the model continue a text", add_run},
      {"eval", "one forward pass over given tokens: logits, perplexity", add_eval},
      {"tokenize", "text to token ids and back", add_tokenize},
      {"devices", "what can compute here, and what was proven about it", add_devices},
      {"info", "what is in a model file, and what will run where", add_info},
      {"plan", "which step runs where and why, with predicted times", add_plan},
      {"bench", "speed of prompt processing and token generation", add_bench},
      {"profile", "how long each operator takes on each device, and how well that is predicted", add_profile},
      {"calibrate", "measure this machine and write it as a processor profile for the model clock", add_calibrate},
      {"calibrate-moe", "count how a mixture of experts uses its experts while it reads texts", add_calibrate_moe},
      {"trace-moe", "record which experts each token goes to, as a file of lines", add_trace_moe},
      {"warm", "compile a GPU's kernels for a kind of model ahead of time", add_warm},
      {"make-moe", "write a mixture of experts that is made of a dense model", add_make_moe},
      {"make-random", "write a model file of a published model's shape, with random weights", add_make_random},
      {"bench-sync", "what waiting for a device costs, by policy", add_bench_sync},
#ifdef TANDEM_HAS_NPU_GEMM_COMMAND
      {"npu", "the emulated NPU by itself", add_npu},
#endif
  };
  return table;
}

Request parse_command_line(int argc, const char* const* argv) {
  CLI::App app(kDescription, "tandem");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("tandem ") + TANDEM_VERSION);
  app.require_subcommand(1);
  Action action;
  const Command* named = named_command(argc, argv);
  for (const Command& command : commands()) {
    if (named != nullptr && named != &command) continue;
    CLI::App* declared = app.add_subcommand(command.name, command.explains);
    if (named != nullptr) command.add(*declared, action);
  }
  try {
    app.parse(spelled_out(argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return {{}, app.exit(error)};  // --help, --version
    report_usage(error.what(), asks_for_json(argc, argv));
    return {{}, kWrongUsage};
  }
  return {std::move(action)};
}

int run_program(int argc, const char* const* argv) {
  const auto work = [&] {
    const Request request = parse_command_line(argc, argv);
    if (!request.action) return request.status;
    set_up_log();
    watch_for_interrupt();
    return request.action();
  };
  const int status = act(work, asks_for_json(argc, argv));
  std::cout.flush();
  if (status == kDone && !std::cout) {
    report_error(Error("cannot write the output", "standard output", "Is the disk full?"), false);
    return kFailed;
  }
  return status;
}

}  // namespace tandem::app
