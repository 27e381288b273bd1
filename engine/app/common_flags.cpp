#include "engine/app/common_flags.h"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include "engine/app/file_flags.h"
#include "engine/app/flag_values.h"
#include "engine/app/report.h"
#include "engine/device/device_id.h"
#include "engine/model/chat_template/model_chat.h"
#include "engine/plan/strategy.h"
#include "engine/plan/strategy_list.h"
#include "engine/run/serve/history_file.h"
#include "engine/run/serve/spec_modes.h"
#include "sync/json_text.h"
#include "sync/long_wait.h"
#include "sync/waiter.h"

namespace tandem::app {

namespace {

constexpr const char* kOfAuto =
    "the plan with the least estimated time, for prompts and for single tokens; estimates stay on disk";

// Prints the plans, with the baselines of papers if `all` is true. Ends the program like --help, whatever else is on
// the command line. as_json: {"plans": [{"name", "explains"}]} instead of lines.
[[noreturn]] void explain_plans(bool all, bool as_json) {
  nlohmann::ordered_json plans = nlohmann::ordered_json::array();
  const auto explain = [&](const char* name, const char* explains) {
    if (as_json)
      plans.push_back({{"name", name}, {"explains", explains}});
    else
      std::printf("%-14s %s\n", name, explains);
  };
  const auto is_baseline = [](const Strategy& strategy) {
    return std::ranges::any_of(baselines(),
                               [&](const Strategy& each) { return std::string_view(each.name) == strategy.name; });
  };
  for (const Strategy& strategy : strategies())
    if (all || !is_baseline(strategy)) explain(strategy.name, strategy.explains);
  explain("auto", kOfAuto);
  if (as_json)
    std::printf("%s\n", json_line(nlohmann::ordered_json{{"plans", std::move(plans)}}).c_str());
  else if (!all)
    std::printf("`--plan list --all` lists the baselines of the papers too.\n");
  throw CLI::Success();
}

}  // namespace

// The parser copies the default group to each option that is added. So a scope of the program is a group of the help
// text, and the destructor restores the default.
FlagGroup::FlagGroup(CLI::App& app, const char* title) : app_(app) { app_.option_defaults()->group(title); }
FlagGroup::~FlagGroup() { app_.option_defaults()->group("Options"); }

void add_model_flag(CLI::App& app, CommonFlags& flags) {
  reads_file(app.add_option("-m,--model", flags.model, "the model file (GGUF; the first part of a split one)"))
      ->envname("TANDEM_MODEL")
      ->required();
}

// Functions take the values of -f, because each value sets several fields.
void add_text_flags(CLI::App& app, CommonFlags& flags, bool several) {
  // Not an option group: the parser treats a group as a command without a name, and an empty argument would call
  // it for ever.
  app.add_option_function<std::string>(
      "-p,--prompt", [&flags](const std::string& text) { flags.text.prompt = text; }, "the text");
  reads_file(
      app.add_option_function<std::vector<std::string>>(
          "-f,--file",
          [&flags](const std::vector<std::string>& paths) {
            flags.text.files = paths;
            flags.text.file = paths.back();
            flags.text.has_file = true;
          },
          several ? "a file that holds the text, taken byte for byte (a last newline too); - is standard input; given "
                    "several times, each file is a text of its own, answered by an object a line"
                  : "a file that holds the text, taken byte for byte (a last newline too); - is standard input"))
      ->expected(1)
      ->multi_option_policy(several ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::Throw);
  // The tokenizer otherwise turns text such as <|im_end|> into the special token of that name.
  app.add_flag("--no-special", flags.no_special, "special tokens written in the text are plain text");
}

// Commands have different subsets of these flags. The message names only the flags that the command has.
void require_one_text(const CLI::App& app) {
  std::string names;
  int given = 0;
  for (const char* name : {"--prompt", "--file", "--ids", "--jsonl"}) {
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr || option->get_items_expected_max() == 0) continue;  // a switch names no text
    names += (names.empty() ? "" : ", ") + option->get_name(false, true);
    given += option->empty() ? 0 : 1;
  }
  if (given != 1) throw CLI::RequiredError("exactly one of " + names);
}

// A template is one by name or one in a file, never both.
void add_template_flags(CLI::App& app, CommonFlags& flags) {
  CLI::Option* name = app.add_option("--chat-template", flags.chat_template,
                                     "a known chat template in place of the model's: chatml, gemma, llama2, llama3, "
                                     "mistral, phi3, zephyr")
                          ->check(CLI::IsMember(chat::known_templates()));
  reads_file(app.add_option("--chat-template-file,--template-file", flags.chat_template_file,
                            "a file with a chat template in place of the model's (docs/chat.md)"))
      ->excludes(name);
}

// The order is that of the help text. transform() replaces the user's text by plain digits, and check() leaves it as
// it is.
void add_sampling_flags(CLI::App& app, CommonFlags& flags) {
  const FlagGroup group(app, "Sampling");
  app.add_option("-n,--predict", flags.generate.predict,
                 "most tokens to generate; -1: until the model ends or the context is full")
      ->transform(whole(kPredictRange))
      ->capture_default_str();
  add_seed_flag(app, flags.seed, "seed of the sampler; the same seed gives the same text");
  app.add_option("--temp", flags.generate.sampler.temperature, "temperature; 0: always the most likely token")
      ->check(finite_range(0, 100))
      ->capture_default_str();
  app.add_option("--top-k", flags.generate.sampler.top_k, "draw from the k most likely tokens; 0: off")
      ->transform(whole(kTopKRange))
      ->capture_default_str();
  app.add_option("--top-p", flags.generate.sampler.top_p,
                 "draw from the fewest tokens with this probability together; 1: off")
      ->check(finite_range(0, 1))
      ->capture_default_str();
  app.add_option("--min-p", flags.generate.sampler.min_p,
                 "leave out tokens with less than this share of the best one's probability; 0: off")
      ->check(finite_range(0, 1))
      ->capture_default_str();
  app.add_option("--repeat-penalty", flags.generate.sampler.repeat_penalty, "makes recent tokens less likely; 1: off")
      ->check(finite_range(0.01, 100))
      ->capture_default_str();
  app.add_option("--stop", flags.generate.stop,
                 "end where this text appears (it is not printed); may be given several times")
      ->expected(1)
      ->take_all()
      ->check([](const std::string& text) {
        return text.empty() ? std::string("a stop string may not be empty") : std::string();
      });
  app.add_flag("--ignore-eos", flags.generate.ignore_end, "go on after the model's end token");
}

void add_form_flags(CLI::App& app, CommonFlags& flags) {
  const FlagGroup group(app, "Form of the text (docs/constrained.md)");
  reads_file(app.add_option("--json-schema", flags.form.json_schema,
                            "the text is a JSON value that satisfies the schema in this file; a keyword that cannot be "
                            "enforced is an error"));
  reads_file(app.add_option("--grammar", flags.form.grammar,
                            "the text satisfies the grammar in this file, in llama.cpp's notation (GBNF)"));
  app.add_flag("--json-object", flags.form.json_object, "the text is a JSON object");
}

// The parser's own excludes() lists several flags in the order of their addresses.
void require_one_form(const FormFlags& form) {
  std::vector<std::string> given;
  if (!form.json_schema.empty()) given.emplace_back("--json-schema");
  if (!form.grammar.empty()) given.emplace_back("--grammar");
  if (form.json_object) given.emplace_back("--json-object");
  if (given.size() > 1) throw CLI::ExcludesError(given[0], given[1]);
}

// Drafts have one group of flags: the rule by which they are made, their number, and where earlier texts come from. The
// modes are named in one list, which lines of `--jsonl` use as well.
void add_spec_flags(CLI::App& app, CommonFlags& flags) {
  const FlagGroup group(app, "Speculative decoding (docs/sdnpu.md)");
  SpecOptions& spec = flags.generate.spec;
  std::vector<std::pair<std::string, SpecMode>> modes;
  for (const SpecMode mode : kSpecModes) modes.emplace_back(to_string(mode), mode);
  add_named<SpecMode>(
      app, "--spec,--spec-type", spec.mode, modes,
      "drafts of the next tokens, taken from what was read and written before; the text is the same: "
      "auto (as many as pay by measured times), sdnpu (the paper's whole system: a tree of all drafts in each pass, "
      "and "
      "the prompt's logits for more of them), pld or sam (its baselines: whenever something matches), none");
  app.add_option("--draft-max", spec.draft_max, "most drafts of a text in a pass")
      ->transform(whole({0, 63}))
      ->capture_default_str();
  app.add_flag("--spec-check", spec.check,
               "run each token again alone, and end with an error that names the first bit of its logits that differs");
  reads_file(
      app.add_option("--draft-model", flags.draft_model,
                     "a smaller model (GGUF) of the same vocabulary; what it would write makes drafts too, where "
                     "that pays with its own passes counted"));
  reads_file(app.add_option("--prediction", flags.predictions,
                            "a file of text that the answer may look like, as an edit's old text; may be given several "
                            "times"))
      ->expected(1)
      ->take_all();
  CLI::Option* history = writes_file(
      app.add_option("--history", flags.history,
                     "S6: a file of earlier outputs of this tokenizer, which drafts continue; this output is added to "
                     "it, readable for its owner alone"));
  app.add_flag("--history-prompts", spec.history_of_prompts, "keep prompts in the history, too")->needs(history);
  add_history_max_flag(app, flags);
  app.get_option("--history-max")->needs(history);
}

// Commands that measure texts take the mode and the number of drafts alone.
void remove_text_spec_flags(CLI::App& app) {
  for (const char* name :
       {"--history-prompts", "--prediction", "--history-max", "--history", "--draft-model", "--spec-check"})
    app.remove_option(app.get_option(name));
}

// Commands that serve texts have the history's size without the flags of drafts.
void add_history_max_flag(CLI::App& app, CommonFlags& flags) {
  app.add_option("--history-max", flags.history_mebibytes, "MiB of the history; beyond them the oldest texts leave it")
      ->transform(whole({1, kMostHistoryBytes >> 20}))
      ->capture_default_str();
}

// Elements are separated by commas alone. With extra arguments allowed, the flag would also take the words behind it.
void add_device_flag(CLI::App& app, CommonFlags& flags) {
  const auto take = [&flags](const std::vector<std::string>& texts) {
    flags.engine.devices.clear();
    for (const std::string& text : texts)
      for (std::string& id : devices_of_range(text)) flags.engine.devices.push_back(std::move(id));
  };
  app.add_option_function<std::vector<std::string>>("--device", take,
                                                    "devices to use, comma separated: opencl:0, npu:0, "
                                                    "npu:0?params=FILE, ndp:0-3, host; default: the best GPU and "
                                                    "the NPU")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->envname("TANDEM_DEVICE")
      ->check(device_id());
}

void add_plan_flag(CLI::App& app, CommonFlags& flags, const std::string& explains) {
  // The parser checks values after it has read all words. So --all counts before and behind --plan.
  CLI::Option* all = app.add_flag("--all")->description("with --plan list: the baselines of the papers too");
  CLI::Option* plan = app.add_option("--plan", flags.engine.plan, explains + "; `list` explains them")
                          ->each([all, &app](const std::string& name) {
                            if (name != "list") return;
                            const CLI::Option* json = app.get_option_no_throw("--json");
                            explain_plans(!all->empty(), json != nullptr && !json->empty());
                          })
                          ->check(plan_name())
                          ->capture_default_str();
  all->needs(plan);
}

// Commands that know their number of tokens make the context larger than this flag says.
void add_ctx_size_flag(CLI::App& app, CommonFlags& flags) {
  app.add_option("-c,--ctx-size", flags.ctx_size, "tokens the context holds; 0: as trained, at most 4096")
      ->transform(whole(kTokensRange))
      ->capture_default_str();
}

// Both budgets name one memory, so the smaller one counts (engine/run/machine/expert_budget.h).
void add_expert_budget_flags(CLI::App& app, CommonFlags& flags) {
  add_budget_flag(
      app, "--expert-budget", flags.engine.expert_budget,
      "Y6: experts in the device's memory: auto (all, or what fits), a share of each layer's (25%) or bytes "
      "(2GiB); the others are read from the packed file when they are needed (docs/large_models.md)");
  add_budget_flag(app, "--host-budget", flags.engine.host_budget,
                  "Y6: the same for the host's memory, beside the slots if --expert-copies is given; a number alone "
                  "counts GiB",
                  true);
}

void add_expert_copies_flag(CLI::App& app, CommonFlags& flags) {
  app.add_flag("--expert-copies", flags.engine.expert_copies,
               "Y6: --expert-budget counts slots of the GPU, and the link copies experts to them, although the GPU "
               "shares the host's memory (docs/hybrimoe.md)");
}

void add_cache_type_flag(CLI::App& app, CommonFlags& flags) {
  app.add_option("--cache-type", flags.cache_type, "elements of the KV cache: f16 or f32")
      ->check(CLI::IsMember({"f16", "f32"}))
      ->capture_default_str();
}

namespace {

// Flags of NPUMoE's plans (docs/npumoe.md). They set the rules that the paper leaves open; each text names
// the part's id.
void add_expert_flags(CLI::App& app, CommonFlags& flags) {
  const FlagGroup group(app, "Research: experts on the NPU (docs/npumoe.md)");
  ExpertRules& rules = flags.engine.experts;
  reads_file(app.add_option(
      "--calibration", flags.engine.calibration,
      "N1: how often experts are chosen, a file of calibrate-moe or a trace of trace-moe (.jsonl); default: counted "
      "while the model runs"));
  app.add_option("--moe-tiers", rules.tiers.multiples,
                 "N2: the three capacities of experts on the NPU, as multiples of the mean load, falling")
      ->delimiter(',')
      ->check(finite_range(1e-6, 1e6))
      ->capture_default_str();
  add_named<TierRule>(
      app, "--moe-tier-rule", rules.tiers.rule, {{"quartile", TierRule::quartile}, {"covering", TierRule::covering}},
      "N2: who gets which: quartile (the most popular quarter the largest) or covering (the smallest that covers the "
      "expected load)");
  app.add_option("--moe-group", rules.groups.largest_group, "N3: most experts of one graph")
      ->transform(whole({1, 4096}))
      ->capture_default_str();
  add_named<ResidencyRule>(
      app, "--moe-residency", rules.residency,
      {{"balanced", ResidencyRule::balanced}, {"faster", ResidencyRule::faster}, {"all", ResidencyRule::all}},
      "N4: groups on the NPU: balanced (so that NPU and GPU end together), faster (each that is faster there than on "
      "the GPU) or all");
  app.add_option("--moe-graphs", rules.most_groups, "N8: most groups of a layer on the NPU, where they are chosen")
      ->transform(whole({0, 4096}))
      ->capture_default_str();
  // The flag counts MiB and the field bytes, so the default is converted back for the help text.
  app.add_option_function<int64_t>(
         "--moe-graph-limit", [&rules](int64_t mebibytes) { rules.groups.largest_graph_bytes = mebibytes << 20; },
         "N8: MiB of weights that a graph of experts has at most")
      ->transform(whole({1, int64_t{1} << 20}))
      ->default_str(std::to_string(rules.groups.largest_graph_bytes >> 20));
  add_named<Overflow>(app, "--overflow", rules.overflow, {{"spill", Overflow::spill}, {"drop", Overflow::drop}},
                      "N7: tokens beyond an expert's capacity: spill (the GPU computes them: the result is exact) or "
                      "drop (they are left out)");
}

// Flags of GPU-NDP's plans (docs/gpu-ndp.md).
void add_unit_flags(CLI::App& app, CommonFlags& flags) {
  const FlagGroup group(app, "Research: experts on near-memory units (docs/gpu-ndp.md)");
  UnitOptions& options = flags.engine.units;
  add_named<UnitSplit>(app, "--ndp-split", options.split, {{"outer", UnitSplit::outer}, {"inner", UnitSplit::inner}},
                       "G2: how units share the down products: outer (by rows: the bits of every other plan) or inner "
                       "(by columns, partial sums are added in the order of the units: bits of their own)");
  add_named<UnitPrompts>(app, "--ndp-prompts", options.prompts,
                         {{"counts", UnitPrompts::counts}, {"share", UnitPrompts::share}},
                         "G3: experts of a prompt on the GPU: counts (by its own choices) or share (Eq. 2)");
  add_named<UnitPrefetch>(app, "--ndp-prefetch", options.prefetch,
                          {{"topk", UnitPrefetch::top_k}, {"fill", UnitPrefetch::fill}},
                          "G4: a prompt's experts that the GPU then holds in each layer: topk (as many as a token has) "
                          "or fill (as many as fit its memory)");
}

}  // namespace

namespace {

// Precision belongs to this group, because it changes the bits of results. Placement does not.
void add_context_flags(CLI::App& app, CommonFlags& flags) {
  const FlagGroup group(app, "Context and precision");
  add_ctx_size_flag(app, flags);
  add_act_flags(app, flags);
  add_cache_type_flag(app, flags);
  app.add_option("--chunk", flags.engine.chunk,
                 "tokens of the prompt that are computed at once; 0: the engine's choice")
      ->transform(whole(kTokensRange))
      ->capture_default_str();
  reads_file(app.add_option("--packed", flags.engine.packed_file,
                            "the packed weights of this model, a file of `tandem pack` (docs/large_models.md)"));
  app.add_flag("--pack-cache", flags.pack_cache,
               "keep the packed weights in the user's cache, so that later starts map them (docs/models.md)");
}

// Lanes that divide experts, and the ratios of another machine (docs/hybrimoe.md).
void add_lane_flags(CLI::App& app, CommonFlags& flags) {
  add_expert_copies_flag(app, flags);
  app.add_option("--link-gbps", flags.engine.link_gbps,
                 "--expert-copies over a link that is slowed down to so many GB/s")
      ->check(finite_range(0.001, 1000));
  app.add_option("--expert-policy", flags.engine.expert_policy,
                 "Y4: which expert leaves a slot, with --expert-copies: auto (as the policy that missed least lately), "
                 "mrs, lru, lfu, ema, or static (none leaves)")
      ->check(CLI::IsMember({"auto", "mrs", "lru", "lfu", "ema", "static"}))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--insert", [&flags](const std::string& which) { flags.engine.insert_misses = which == "miss"; },
         "Y4: which of a text's missing experts get slots: transfer (those that the link copied) or miss (those that "
         "the host computed too)")
      ->check(CLI::IsMember({"transfer", "miss"}))
      ->default_str("transfer");
  add_named<bool>(app, "--hot-experts", flags.engine.hot_experts, {{"on", true}, {"off", false}},
                  "Y6: experts that move begin with those that earlier runs used most, read in the background: on or "
                  "off");
  using Prefetching = ExpertPrefetching;
  add_named<Prefetching>(app, "--expert-prefetch", flags.engine.expert_prefetch,
                         {{"auto", Prefetching::automatic}, {"on", Prefetching::on}, {"off", Prefetching::off}},
                         "Y3: experts are copied ahead that later layers are guessed to choose: auto (where measured "
                         "passes say that it pays), on or off");
  app.add_option("--prefetch-layers", flags.engine.prefetch_layers,
                 "Y3: most layers ahead whose experts a text guesses for such copies")
      ->transform(whole({1, 3}))
      ->capture_default_str();
  app.add_option("--disk-gbps", flags.engine.disk_gbps,
                 "reads of experts that move take as long as at so many GB/s, by waits: to study another machine")
      ->check(finite_range(0.001, 1000));
  app.add_option("--host-slower", flags.engine.host_slower,
                 "products on the host take so many times as long, by waits: to study another machine")
      ->check(finite_range(1, 1000));
}

// These flags say where the model runs: threads, devices, the plan, shares between devices, and the memory that moving
// weights may have. Values that are out of range are errors of the command line, before any device is opened.
void add_placement_flags(CLI::App& app, CommonFlags& flags) {
  const FlagGroup group(app, "Devices and plans");
  add_threads_flag(app, flags.engine.threads);
  add_device_flag(app, flags);
  app.add_flag("--strict-device", flags.engine.strict_device,
               "an operator that has to fall back to another device is an error");
  add_plan_flag(app, flags, "what runs where: auto, tensor, gpu-only, npu-only, host-only, ...");
  // -1 lies outside the range of shares and means a measured share, so the check accepts it first. A validator takes
  // its text by a mutable reference, but finite_range() does not change it.
  app.add_option("--split", flags.engine.split,
                 "the NPU's share of a matmul's rows in plans that cut them, or every device's in order (0.5,0.3,0.2); "
                 "-1: measured")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](const std::string& text) {
            if (text == "-1") return std::string();
            const std::string problem = finite_range(0, 1)(const_cast<std::string&>(text));
            return problem.empty() ? problem : problem + ", or -1";
          },
          "SHARE[,SHARE...]"));
  add_expert_budget_flags(app, flags);
  add_lane_flags(app, flags);
  // The flag counts MiB and the field bytes.
  app.add_option_function<int64_t>(
         "--npu-memory",
         [&flags](int64_t mebibytes) { flags.engine.npu_memory_bytes = static_cast<uint64_t>(mebibytes) << 20; },
         "MiB of the NPU's memory for graphs of prompts and of single tokens, each with weights of its own; what does "
         "not fit is loaded while it computes (docs/sdnpu.md)")
      ->transform(whole({1, int64_t{1} << 20}));
  app.add_option("--sync", flags.sync, "how the host waits for a device")
      ->check(CLI::IsMember(sync::waiter_names()))
      ->capture_default_str();
  app.add_option("--deadline", flags.deadline_seconds,
                 "seconds after which a wait for a device is an error: longer than a slow one may take for a pass")
      ->check(finite_range(0.001, 1e6))
      ->envname("TANDEM_DEADLINE")
      ->capture_default_str();
  app.add_option(
         "--submit", flags.submit,
         "when GPU steps are submitted that wait for the NPU: ahead (all at once), follow (when the NPU has ended), "
         "dominant (follow for prompts, ahead for single tokens)")
      ->check(CLI::IsMember({"ahead", "follow", "dominant"}))
      ->capture_default_str();
}

// Reports describe a run and change nothing in it.
void add_report_flags(CLI::App& app, CommonFlags& flags) {
  const FlagGroup group(app, "Output");
  reads_file(
      app.add_option("--soc", flags.soc, "report the model clock of this chip too: a known one, or a .json file"), true)
      ->check(chip_or_file());
  writes_file(app.add_option("--trace", flags.trace,
                             "write a Perfetto trace to this file (.json), or a picture of the last pass (.svg)"));
}

}  // namespace

// Flags of research systems come last, so that the help text begins with what most users need.
void add_engine_flags(CLI::App& app, CommonFlags& flags) {
  add_context_flags(app, flags);
  add_placement_flags(app, flags);
  add_report_flags(app, flags);
  add_expert_flags(app, flags);
  add_unit_flags(app, flags);
}

void add_output_flags(CLI::App& app, CommonFlags& flags) {
  const FlagGroup group(app, "Output");
  app.add_flag("--json", flags.json, "one JSON object on standard output instead of text");
  // Counted flags take no value: the parser would pass it to std::stoll, whose exception it does not handle.
  app.add_flag_function(
         "-v,--verbose", [&flags](int64_t times) { flags.verbosity = static_cast<int>(times); },
         "say more; twice: still more")
      ->disable_flag_override();
  app.add_flag_function(
         "-q,--quiet", [&flags](int64_t) { flags.verbosity = -1; }, "say nothing but the result and errors")
      ->disable_flag_override();
}

// Both flags set one field. The parser refuses them together, so no order of theirs decides.
void add_act_flags(CLI::App& app, CommonFlags& flags) {
  CLI::Option* act =
      app.add_option("--act", flags.act,
                     "activations at matmul inputs: f32, f16, or i8 for weights of integers (faster, less exact, the "
                     "same bits on every device); auto: i8 if all of the model's weights are integers; default: f16 "
                     "where the plan uses the NPU, else f32")
          ->check(CLI::IsMember({"auto", "f32", "f16", "i8"}));
  CLI::Option* fast = app.add_flag_callback(
                             "--fast", [&flags] { flags.act = "i8"; }, "the same as --act i8")
                          ->excludes(act);
  app.add_flag_callback(
         "--exact", [&flags] { flags.act = "exact"; }, "never i8: the default of --act, by name")
      ->excludes(act)
      ->excludes(fast);
}

// Only commands that write text may begin without a GPU, so only they have this flag.
void add_compile_flag(CLI::App& app, CommonFlags& flags) {
  const FlagGroup group(app, "Devices and plans");
  app.add_option("--compile", flags.compile,
                 "a GPU's kernels that are not compiled yet: background (write without the GPU until they are) or now")
      ->check(CLI::IsMember({"background", "now"}))
      ->envname("TANDEM_COMPILE")
      ->capture_default_str();
}

// Values come from the parsed options, so one check serves every command with these flags. A single share is the NPU's
// alone, so only several shares have to add up to 1. Falling capacities are a rule of NPUMoE's tiers (N2).
void require_lists_fit(const CLI::App& command) {
  const auto values = [&](const char* flag) {
    const CLI::Option* found = command.get_option_no_throw(flag);
    return found && !found->empty() ? found->as<std::vector<double>>() : std::vector<double>();
  };
  const std::vector<double> shares = values("--split"), tiers = values("--moe-tiers");
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (shares.size() > 1 && std::abs(sum - 1) > 1e-6) throw WrongUsage("--split: the shares do not add up to 1");
  const CLI::Option* devices = command.get_option_no_throw("--device");
  if (shares.size() > 1 && devices && !devices->empty() && shares.size() > devices->results().size())
    throw WrongUsage("--split: more shares than devices");
  if (!std::ranges::is_sorted(tiers, std::greater<>()))
    throw WrongUsage("--moe-tiers: the capacities do not fall; give the largest first");
}

// -q also silences the lines about long waits, which do not go through the log. It does so even if TANDEM_LOG is set.
void apply_verbosity(const CommonFlags& flags) {
  if (flags.quiet()) keep_waits_to_yourself();
  if (std::getenv("TANDEM_LOG")) return;
  if (flags.verbosity > 1) spdlog::set_level(spdlog::level::debug);
  if (flags.verbosity == 1) spdlog::set_level(spdlog::level::info);
  if (flags.verbosity < 0) spdlog::set_level(spdlog::level::err);
}

}  // namespace tandem::app
