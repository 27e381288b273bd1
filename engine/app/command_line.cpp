#include "engine/app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/app/command_words.h"
#include "engine/app/commands/commands.h"
#include "engine/app/commands/drafts/history.h"
#include "engine/app/commands/drafts/spec.h"
#include "engine/app/commands/models/expert_use.h"
#include "engine/app/commands/models/replay_moe.h"
#include "engine/app/commands/planning/expert_schedules.h"
#include "engine/app/commands/serve/serve.h"
#include "engine/app/commands/sync/bench_sync.h"
#include "engine/app/commands/text/chat.h"
#include "engine/app/commands/text/embed.h"
#include "engine/app/commands/text/tokenize.h"
#include "engine/app/common_flags.h"
#include "engine/app/file_flags.h"
#include "engine/app/flag_values.h"
#include "engine/app/interrupt.h"
#include "engine/app/log_levels.h"
#include "engine/app/report.h"
#include "engine/app/scarcity.h"
#include "engine/app/standard_streams.h"
#include "engine/app/version.h"
#ifdef TANDEM_HAS_NPU_GEMM_COMMAND
#include "engine/app/commands/models/npu_gemm.h"
#endif
#include "engine/run/engine.h"
#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem::app {

namespace {

constexpr const char* kDescription =
    "Tandem runs language models on a GPU and an NPU that share one memory.\n"
    "`tandem COMMAND --help` lists the flags of a command.";

constexpr const char* kFooter =
    "Environment:\n"
    "  TANDEM_MODEL        the model file when there is no -m\n"
    "  TANDEM_DEVICE       the devices when there is no --device\n"
    "  TANDEM_COMPILE      --compile of `tandem run`: background (default) or now\n"
    "  TANDEM_DEADLINE     --deadline: seconds that a wait for a device may take\n"
    "  TANDEM_PORT, TANDEM_HOST, TANDEM_PARALLEL, TANDEM_QUEUE, TANDEM_CTX_SIZE, TANDEM_ALIAS, TANDEM_API_KEY,\n"
    "  TANDEM_API_KEY_FILE flags of `tandem serve`\n"
    "  TANDEM_LOG          log level: trace, debug, info, warn (default), error, off\n"
    "  REQUIRE_OPENCL=1    `tandem devices` fails without an OpenCL device (REQUIRE_VULKAN=1: without a Vulkan one)\n"
    "Exit status: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted.";

// Names the flags that a flag needs or excludes in the order of the alphabet. The parser names them in the order of
// their addresses, so the help would change from run to run.
class OrderedHelp : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    for (const char* label : {" Needs:", " Excludes:"}) order_names(text, label);
    return text;
  }

 private:
  // The names stand between the label and the next label, or the end.
  static void order_names(std::string& text, const std::string& label) {
    const size_t at = text.find(label);
    if (at == text.npos) return;
    const size_t begin = at + label.size(), end = std::min(text.find(" Excludes:", begin), text.size());
    std::istringstream words(text.substr(begin, end - begin));
    std::vector<std::string> names{std::istream_iterator<std::string>(words), {}};
    std::ranges::sort(names);
    std::string ordered;
    for (const std::string& name : names) ordered += " " + name;
    text.replace(begin, end - begin, ordered);
  }
};

#ifdef TANDEM_HAS_NPU_GEMM_COMMAND
void add_npu(CLI::App& app, Action& action) {
  app.require_subcommand(1);
  add_npu_gemm(
      *app.add_subcommand("gemm", "one matrix product on the emulated array: cycles, utilisation, checked result"),
      action);
}
#endif

// A value with which the parser takes a flag for absent.
bool is_off(std::string_view value) {
  constexpr std::string_view kOff[] = {"false", "off", "no", "disable", "0", "-"};
  return std::ranges::find(kOff, value) != std::end(kOff);
}

// Whether the user asked for machine-readable output. It must be known even if the command line could not
// be understood.
bool asks_for_json(int argc, const char* const* argv) {
  const bool may_name_a_form = argc > 1 && std::string_view(argv[1]) == "bench";  // elsewhere --output is a file
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json" || (word.starts_with("--json=") && !is_off(word.substr(7)))) return true;
    if (!may_name_a_form) continue;
    if (word == "-ojson" || word == "--output=json") return true;
    if ((word == "-o" || word == "--output") && i + 1 < argc && std::string_view(argv[i + 1]) == "json") return true;
  }
  return false;
}

// The command that the arguments name. Only its flags are declared then: declaring the flags of all commands takes the
// parser longer than all else until the action. Variables of the environment for other commands also have no effect.
// Null: only the list of commands may be asked for. WrongUsage: an unknown word, or a flag before the command.
const Command* named_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  const std::vector<std::string> words = leading_words(arguments);
  for (const Command& command : commands()) {
    if (!words.empty() && words.front() == command.name) return &command;
    names.emplace_back(command.name);
  }
  if (!words.empty()) throw WrongUsage(no_such_command(words.front(), names));
  if (arguments.empty()) throw WrongUsage(no_such_command("", names));
  for (const char* own : {"-h", "--help", "--version"})
    if (arguments.front() == own) return nullptr;
  throw WrongUsage("the flag '" + arguments.front().substr(0, 80) + "' is before the command; " +
                   no_such_command("", names));
}

// For a command with sub-commands: the next word must name one of them. The parser's own message would not list the
// names. A request for help needs no second word.
void require_known_subcommand(const CLI::App& declared, const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const CLI::App* each : declared.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(each->get_name());
  const std::vector<std::string> words = leading_words(arguments);
  const auto asks_for = [&](const char* flag) { return std::ranges::find(arguments, flag) != arguments.end(); };
  if (names.empty() || (words.size() < 2 && (asks_for("--help") || asks_for("-h")))) return;
  if (words.size() > 1 && std::ranges::find(names, words[1]) != names.end()) return;
  throw WrongUsage(no_such_command(words.size() > 1 ? words[0] + " " + words[1] : "", names));
}

// The arguments that no flag takes, in the order of the line. The parser's own message reverses them.
std::string not_expected(const std::vector<std::string>& arguments) {
  std::string text = arguments.size() == 1 ? "this argument was not expected:" : "these arguments were not expected:";
  for (const std::string& each : arguments) text += " " + each;
  return text;
}

// An unknown flag is reported before a missing one: it may be the missing flag, misspelt.
std::string refusal_of(const CLI::ParseError& error, const CLI::App* declared) {
  const bool is_incomplete = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr,
             is_unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const auto left = declared == nullptr ? std::vector<std::string>() : declared->remaining(true);
  return (is_incomplete || is_unknown) && !left.empty() ? not_expected(left) : error.what();
}

// " (from TANDEM_DEVICE)" if the refused value comes from the environment. The parser's message begins with the
// option's name and a colon, which tells the option.
std::string place_of(const std::string& refusal, const CLI::App& declared) {
  for (const CLI::Option* option : declared.get_options()) {
    if (refusal.starts_with(option->get_name() + ":") && option->count() > 0 && !is_given(*option))
      return " (from " + option->get_envname() + ")";
  }
  return "";
}

// Runs the action and turns every exception into a report and an exit status. The handlers' order matters: WrongUsage
// is an Error, so it stands before Error. An interruption is no failure, so it stands first and is not reported. An
// error after Ctrl-C is reported, but the status is that of an interruption.
int act(const Action& action, bool json) {
  try {
    return action();
  } catch (const Interrupted&) {
    return kInterrupted;
  } catch (const WrongUsage& error) {
    report_error(error, json);
    return kWrongUsage;
  } catch (const Error& error) {
    report_error(scarcity_behind(error).value_or(error), json);
  } catch (const std::exception& error) {
    if (const auto scarcity = scarcity_behind(error)) {
      report_error(*scarcity, json);
      return interrupted() ? kInterrupted : kFailed;
    }
    report_error(
        Error("unexpected failure", error.what(), "This is a defect of Tandem; please report it with the command line"),
        json);
  }
  return interrupted() ? kInterrupted : kFailed;
}

}  // namespace

// Every command of the program, in the order of its help text.
std::span<const Command> commands() {
  static const Command table[] = {
      {kUse, "run", "let the model continue a text, or answer it (--chat)", add_run},
      {kUse, "chat", "a conversation with a model; what a chat template makes of one (--render)", add_chat},
      {kUse, "serve", "a server with OpenAI's interface, on the loopback address", add_serve},
      {kUse, "embed", "vectors of texts: numbers that tell which texts are alike", add_embed},
      {kUse, "eval", "one forward pass over given tokens: logits, perplexity", add_eval},
      {kUse, "tokenize", "text to token ids and back", add_tokenize},
      {kUse, "devices", "what can compute here, and what was proven about it", add_devices},
      {kUse, "info", "what is in a model file, and what will run where", add_info},
      {kUse, "pack", "write a model's packed weights to a file, for models larger than the memory", add_pack},
      {kUse, "history", "the file of earlier texts that drafts continue (run --history)", add_history},
      {kUse, "warm", "compile a GPU's kernels for a kind of model ahead of time", add_warm},
      {kUse, "bench", "speed of prompt processing and token generation", add_bench},
      {kUse, "completion", "a script with which bash, zsh or fish completes commands, flags and values",
       add_completion},
      {kMeasure, "bench-sync", "what waiting for a device costs, by policy", add_bench_sync},
      {kMeasure, "profile", "how long each operator takes on each device, and how well that is predicted", add_profile},
      {kMeasure, "calibrate", "measure this machine and write it as a processor profile for the model clock",
       add_calibrate},
      {kMeasure, "plan", "which step runs where and why, with predicted times", add_plan},
#ifdef TANDEM_HAS_NPU_GEMM_COMMAND
      {kStudy, "npu", "the emulated NPU by itself", add_npu},
#endif
      {kStudy, "make-random", "write a model file of a published model's shape, with random weights", add_make_random},
      {kStudy, "make-moe", "write a mixture of experts that is made of a dense model", add_make_moe},
      {kStudy, "trace-moe", "record which experts each token goes to, as a file of lines", add_trace_moe},
      {kStudy, "plan-experts", "who computes which expert of a layer, and when, by schedules and costs",
       add_plan_experts},
      {kStudy, "replay-moe", "what caches of experts would hit on recorded routing, by policy and budget",
       add_replay_moe},
      {kStudy, "spec", "the rules of speculative decoding on cases, without a model", add_spec},
      {kStudy, "calibrate-moe", "count how a mixture of experts uses its experts while it reads texts",
       add_calibrate_moe},
  };
  return table;
}

// Declares the named command, parses the arguments, then runs the checks that need several flags together.
Request parse_command_line(int argc, const char* const* argv) {
  CLI::App app(kDescription, "tandem");
  app.footer(kFooter);
  app.formatter(std::make_shared<OrderedHelp>());
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  Action action;
  const CLI::App* chosen = nullptr;
  try {
    std::vector<std::string> arguments = spelled_out(argc, argv);
    const Command* named = named_command(arguments);
    for (const Command& command : commands()) {
      if (named != nullptr && named != &command) continue;
      CLI::App* declared = app.add_subcommand(command.name, command.explains)->group(command.shelf);
      // Only the list of names is asked for then, so no flags are declared.
      if (named == nullptr) continue;
      command.add(*declared, action);
      chosen = declared;
      require_known_subcommand(*declared, arguments);
    }
    std::ranges::reverse(arguments);  // the order that the parser expects
    app.parse(std::move(arguments));
    take_dropped_variables(app);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return {{}, app.exit(error)};  // --help, --version
    const std::string refusal = refusal_of(error, chosen);
    report_usage(refusal + (chosen ? place_of(refusal, *chosen) : ""), asks_for_json(argc, argv));
    return {{}, kWrongUsage};
  } catch (const WrongUsage& error) {
    report_error(error, asks_for_json(argc, argv));
    return {{}, kWrongUsage};
  }
  Request request;
  // The command and its sub-command, if it has one.
  for (const CLI::App* command = app.get_subcommands().front(); command != nullptr;) {
    require_devices_apart(*command);
    require_lists_fit(*command);
    require_files_apart(*command);
    request.writes_to_stdout = request.writes_to_stdout || writes_to_stdout(*command);
    command = command->get_subcommands().empty() ? nullptr : command->get_subcommands().front();
  }
  request.action = std::move(action);
  return request;
}

// Reading the command line is part of act(), so that its errors are reported in the same way. Standard output is
// checked at the end: a full disk may show only when it is flushed.
int run_program(int argc, const char* const* argv) {
  const auto work = [&] {
    const Request request = parse_command_line(argc, argv);
    if (!request.action) return request.status;
    // This comes first, because the log, the watchers and the action may print. Standard output then has the output's
    // bytes alone.
    if (request.writes_to_stdout) lead_reports_to_stderr();
    set_up_log();
    watch_for_interrupt();
    watch_for_scarcity(asks_for_json(argc, argv));
    return request.action();
  };
  const int status = act(work, asks_for_json(argc, argv));
  std::cout.flush();
  if (status == kDone && !std::cout) {
    const char* hint = stdout_is_closed() ? "It is closed" : "Is the disk full?";
    report_error(Error("cannot write the output", "standard output", hint), false);
    return kFailed;
  }
  return status;
}

}  // namespace tandem::app
