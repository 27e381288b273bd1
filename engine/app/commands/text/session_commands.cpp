// The flags of commands that open an engine: run, eval, bench, plan, profile and calibrate. Rules between flags are
// checked here, before a model is loaded.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "engine/app/commands/bench/bench.h"
#include "engine/app/commands/bench/bench_mixed.h"
#include "engine/app/commands/bench/bench_parallel.h"
#include "engine/app/commands/commands.h"
#include "engine/app/commands/planning/calibrate.h"
#include "engine/app/commands/planning/plan.h"
#include "engine/app/commands/planning/profile.h"
#include "engine/app/commands/text/draft_flags.h"
#include "engine/app/commands/text/eval.h"
#include "engine/app/commands/text/eval_lines.h"
#include "engine/app/commands/text/run.h"
#include "engine/app/commands/text/run_lines.h"
#include "engine/app/common_flags.h"
#include "engine/app/file_flags.h"
#include "engine/app/flag_values.h"
#include "engine/plan/strategy.h"

namespace tandem::app {

namespace {

// Flags of commands that take many texts.
void add_many_flags(CLI::App& app, ManyPrompts& many, const std::string& explains) {
  reads_file(app.add_option("--jsonl", many.lines, explains));
  app.add_option("--parallel", many.parallel, "of several texts: how many at a time (also -np)")
      ->transform(whole(kParallelRange))
      ->capture_default_str();
  app.add_flag("--unordered", many.unordered, "of several texts: answer each when it has ended, not in order");
}

// Several -f are many texts.
void take_files(const CommonFlags& flags, ManyPrompts& many) {
  if (flags.text.files.size() < 2) return;
  if (!flags.soc.empty()) throw CLI::ExcludesError("--soc", "several --file");
  many.files = flags.text.files;
}

// A 0 switches a kind of test off. A run without any test is a mistake of the command line.
bool measures_nothing(const BenchFlags& bench) {
  const auto none = [](const std::vector<int64_t>& numbers) {
    return std::ranges::none_of(numbers, [](int64_t number) { return number > 0; });
  };
  return none(bench.n_prompt) && none(bench.n_gen);
}

// Only commands that run a model's router can write what it chose.
void add_routing_flag(CLI::App& app, CommonFlags& flags) {
  writes_file(app.add_option("--routing-out", flags.routing_out,
                             "write which experts every token went to, as a file of trace-moe (tandem replay-moe)"));
}

// The smallest of a list, 0 for an empty one.
int64_t smallest(const std::vector<int64_t>& numbers) {
  return numbers.empty() ? 0 : *std::ranges::min_element(numbers);
}

// A pass takes one token of every text, so a chunk must have room for all of them.
void require_room_for_all(const CommonFlags& flags, const BenchFlags& bench) {
  if (bench.parallel.empty() || flags.engine.chunk == 0) return;
  const int64_t most = *std::ranges::max_element(bench.parallel);
  if (flags.engine.chunk < most)
    throw CLI::ValidationError("-np " + std::to_string(most) + " with --chunk " + std::to_string(flags.engine.chunk),
                               "a pass takes a token of every text; make --chunk at least as large as -np");
}

}  // namespace

// The callback runs when all flags are read. It makes the checks that need several flags, and chooses between one text
// and many. The action runs later, outside the parser.
void add_run(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<ManyPrompts>>();
  add_model_flag(app, flags->common);
  add_text_flags(app, flags->common, true);
  add_many_flags(
      app, flags->own,
      "a file of prompts, a JSON object a line: {\"prompt\", \"n_predict\", \"seed\", \"prediction\" (texts), "
      "\"spec\", \"json_schema\" (a schema), \"grammar\" (a text)}; answers are an object a line; - is standard input");
  app.add_flag("--chat", flags->common.chat,
               "put each text as a user's turn by the model's own chat template, so that it is answered and not "
               "continued; special tokens in the text are plain text (docs/chat.md)");
  add_template_flags(app, flags->common);
  for (const char* name : {"--chat-template", "--chat-template-file"}) app.get_option(name)->needs("--chat");
  writes_file(app.add_option("--save-state", flags->common.save_state,
                             "write the text's tokens with their keys and values to this file"));
  reads_file(
      app.add_option("--load-state", flags->common.load_state,
                     "go on from such a file: what the prompt begins with as the saved text does is not run again"));
  add_routing_flag(app, flags->common);
  add_sampling_flags(app, flags->common);
  add_form_flags(app, flags->common);
  add_spec_flags(app, flags->common);
  add_engine_flags(app, flags->common);
  add_compile_flag(app, flags->common);
  add_output_flags(app, flags->common);
  // The model clock describes one prompt and its answer. take_files() refuses it beside several files.
  app.get_option("--jsonl")->excludes("--soc");
  app.callback([flags, &action, &app] {
    require_one_text(app);
    require_one_form(flags->common.form);
    take_files(flags->common, flags->own);
    const bool is_many = flags->own.is_given();
    if (flags->own.lines.empty()) require_used_drafts(flags->common);  // a line may have drafts of its own
    if (is_many && !(flags->common.save_state.empty() && flags->common.load_state.empty()))
      throw CLI::ExcludesError("--save-state, --load-state", "several prompts");
    action = [flags, is_many] {
      return is_many ? run_many_command(flags->common, flags->own) : run_command(flags->common);
    };
  });
}

// Many texts have neither a file of logits nor a model clock, because both describe a single text.
void add_eval(CLI::App& app, Action& action) {
  struct Own : EvalFlags {
    ManyPrompts many;
  };
  auto flags = std::make_shared<FlagsWith<Own>>();
  add_model_flag(app, flags->common);
  add_text_flags(app, flags->common, true);
  add_many_flags(
      app, flags->own.many,
      "a file of texts, a JSON object a line: {\"prompt\"}; the perplexity of each is an object on a line; - is "
      "standard input");
  reads_file(
      app.add_option("--ids", flags->own.ids_file, "a file of token ids separated by white space, used as they are"));
  writes_file(app.add_option("--logits", flags->own.logits_out,
                             "write float32 logits, little-endian, [tokens, vocabulary], to this file"));
  add_routing_flag(app, flags->common);
  app.add_flag("--perplexity", flags->own.perplexity, "report the perplexity of the tokens");
  add_engine_flags(app, flags->common);
  add_output_flags(app, flags->common);
  app.get_option("--jsonl")->excludes("--soc")->excludes("--logits");
  app.callback([flags, &action, &app] {
    require_one_text(app);
    take_files(flags->common, flags->own.many);
    const bool is_many = flags->own.many.is_given();
    if (is_many && !flags->own.logits_out.empty()) throw CLI::ExcludesError("--logits", "several texts");
    action = [flags, is_many] {
      return is_many ? eval_many_command(flags->common, flags->own.many) : eval_command(flags->common, flags->own);
    };
  });
}

// Many texts at once have their own table, so --parallel excludes the flags that its table lacks. Lists of lengths make
// one test for each element, as in llama-bench.
void add_bench(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<BenchFlags>>();
  add_model_flag(app, flags->common);
  app.add_option("-p,--n-prompt", flags->own.n_prompt, "prompt lengths to time, comma separated; 0: none")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(whole(kTokensRange))
      ->capture_default_str();
  app.add_option("-n,--n-gen", flags->own.n_gen, "numbers of generated tokens to time, comma separated; 0: none")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(whole(kTokensRange))
      ->capture_default_str();
  app.add_option("-d,--depth", flags->own.n_depth,
                 "tokens in the context before what is timed, comma separated; every test runs at every depth")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(whole(kTokensRange))
      ->capture_default_str();
  app.add_option("--parallel", flags->own.parallel,
                 "numbers of texts at once, comma separated (also -np): prompts of -p tokens are read together, then "
                 "-n tokens of each are written, one of every text a pass")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(whole(kParallelRange));
  app.add_option("--mixed", flags->own.mixed,
                 "with -np: so many requests of random lengths, up to -p and -n tokens, arrive at random")
      ->transform(whole({1, 100000}))
      ->needs("--parallel");
  app.add_option("-r,--repetitions", flags->own.repetitions, "runs of each test")
      ->transform(whole({1, 10000}))
      ->capture_default_str();
  app.add_flag("--roofline", flags->own.roofline,
               "measure between the repetitions what the cores can do at most (multiply-adds, reading memory), and say "
               "how near each test comes");
  app.add_option("-o,--output", flags->own.output, "md, json or csv")
      ->check(CLI::IsMember({"md", "json", "csv"}))
      ->capture_default_str();
  add_engine_flags(app, flags->common);
  add_output_flags(app, flags->common);
  app.add_flag("--breakdown", flags->own.breakdown,
               "record one more repetition of each test, and say where its time went: by device and kind of operator")
      ->excludes("--trace");
  for (const char* name : {"--depth", "--roofline", "--breakdown", "--soc"})
    app.get_option("--parallel")->excludes(name);
  app.callback([flags, &action, &app] {
    if (flags->common.json && is_given(*app.get_option("--output")) && flags->own.output != "json")
      throw CLI::ExcludesError("--json", "--output " + flags->own.output);
    if (measures_nothing(flags->own))
      throw CLI::ValidationError("--n-prompt, --n-gen",
                                 "there is nothing to measure; give one of them a number above 0");
    if (flags->own.mixed > 0 && std::min(smallest(flags->own.n_prompt), smallest(flags->own.n_gen)) == 0)
      throw CLI::ValidationError("--mixed", "a request has a prompt and an answer; give -p and -n numbers above 0");
    require_room_for_all(flags->common, flags->own);
    // --json is short for --output json. The action sets it after all checks, which must see what the user wrote.
    action = [flags] {
      if (flags->common.json) flags->own.output = "json";
      const bool is_parallel = !flags->own.parallel.empty();
      if (flags->own.mixed > 0) return bench_mixed_command(flags->common, flags->own);
      return is_parallel ? bench_parallel_command(flags->common, flags->own) : bench_command(flags->common, flags->own);
    };
  });
}

// Flags of the user that have no effect. With --soc: those of a measured plan, and those of experts if the plan puts
// none on the NPU. Without --soc: those of a chip's clock. The lists are kept by hand. A flag counts only if it stands
// on the command line, since variables of the environment are meant for all commands.
std::vector<std::string> idle_flags(const CLI::App& app, const CommonFlags& flags) {
  static const char* const kMeasured[] = {
      "--ctx-size",      "--threads",    "--device",        "--strict-device",   "--split",           "--act",
      "--sync",          "--submit",     "--cache-type",    "--ndp-split",       "--ndp-prompts",     "--ndp-prefetch",
      "--packed",        "--pack-cache", "--expert-budget", "--host-budget",     "--expert-copies",   "--link-gbps",
      "--expert-policy", "--insert",     "--hot-experts",   "--expert-prefetch", "--prefetch-layers", "--disk-gbps",
      "--host-slower"};
  static const char* const kOfExperts[] = {"--moe-tiers", "--moe-tier-rule", "--moe-group",      "--moe-residency",
                                           "--overflow",  "--moe-graphs",    "--moe-graph-limit"};
  static const char* const kModelled[] = {"--weights", "--slow-sync", "--beside-load"};
  std::vector<const char*> names(std::begin(kModelled), std::end(kModelled));
  if (!flags.soc.empty()) {
    names.assign(std::begin(kMeasured), std::end(kMeasured));
    const bool places_experts = std::ranges::any_of(strategies(), [&](const Strategy& strategy) {
      return strategy.name == flags.engine.plan && strategy.expert_rules != nullptr;
    });
    if (!places_experts) names.insert(names.end(), std::begin(kOfExperts), std::end(kOfExperts));
  }
  std::vector<std::string> given;
  for (const std::string name : names) {
    if (name == "--act" && flags.act != "f16" && flags.act != "f32") continue;  // i8 has an effect on the clock
    const CLI::Option* option = app.get_option(name);
    if (is_given(*option)) given.emplace_back(name);
  }
  return given;
}

// A plan on this machine needs a model file. A plan on a chip's clock also accepts shapes. The parser's own excludes()
// would also count a model from TANDEM_MODEL, so the callback looks at the command line.
void add_plan(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<PlanFlags>>();
  add_model_flag(app, flags->common);
  app.get_option("--model")->required(false);
  reads_file(
      app.add_option("--shape", flags->own.shape,
                     "in place of -m, with --soc: a published model (llama-3-8b, ...), or a .json or .gguf file"),
      true)
      ->check(shape_or_file());
  app.add_option("-p,--prompt", flags->own.prompt, "tokens of the prompt")
      ->transform(whole({1, kMostTokens}))
      ->capture_default_str();
  app.add_option("--weights", flags->own.weights,
                 "storage type of the matrices, with --soc; default: the file's, Q4_0 for --shape")
      ->check(storage_type());
  app.add_flag("--slow-sync", flags->own.slow_sync,
               "copies and blocking waits in place of fast synchronisation, with --soc");
  app.add_flag("--beside-load", flags->own.load, "beside a program that renders, with --soc");
  add_engine_flags(app, flags->common);
  for (const char* name : {"--trace", "--npu-memory"}) app.remove_option(app.get_option(name));  // nothing runs
  add_output_flags(app, flags->common);
  app.callback([flags, &app, &action] {
    if (flags->common.model.empty() && flags->own.shape.empty()) throw CLI::RequiredError("--model or --shape");
    if (!flags->own.shape.empty() && is_given(*app.get_option("--model")))
      throw CLI::ExcludesError("--shape", "--model");
    if (!flags->own.shape.empty() && flags->common.soc.empty()) throw CLI::RequiresError("--shape", "--soc");
    flags->own.idle_flags = idle_flags(app, flags->common);
    action = [flags] { return plan_command(flags->common, flags->own); };
  });
}

// The profiler chooses plan, activations and context by itself, so most engine flags are not declared.
void add_profile(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<ProfileFlags>>();
  add_model_flag(app, flags->common);
  add_device_flag(app, flags->common);
  add_threads_flag(app, flags->common.engine.threads);
  app.add_option("--chunk", flags->common.engine.chunk,
                 "the largest token size that is measured; 0: 1024, with --quick 128")
      ->transform(whole(kTokensRange))
      ->capture_default_str();
  app.add_flag("--quick", flags->own.quick, "few token sizes and rows");
  app.add_flag("--again", flags->own.again, "measure what is on disk already, too");
  add_output_flags(app, flags->common);
  app.callback([flags, &action] { action = [flags] { return profile_command(flags->common, flags->own); }; });
}

// A calibration writes a profile for `--soc` from what this machine measures.
void add_calibrate(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<CalibrateFlags>>();
  add_model_flag(app, flags->common);
  add_device_flag(app, flags->common);
  add_threads_flag(app, flags->common.engine.threads);
  writes_file(app.add_option("-o,--output", flags->own.output, "the profile: a .json file for --soc"))->required();
  add_output_flags(app, flags->common);
  app.callback([flags, &action] { action = [flags] { return calibrate_command(flags->common, flags->own); }; });
}

}  // namespace tandem::app
