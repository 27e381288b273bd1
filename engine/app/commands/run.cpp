#include "engine/app/commands/run.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/app/command.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/soc_clock.h"
#include "engine/app/interrupt.h"
#include "engine/app/progress.h"
#include "engine/app/report.h"
#include "engine/run/generate.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

double per_second(int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

std::vector<int32_t> prompt_ids(const CommonFlags& flags, const Engine& engine) {
  EncodeOptions encode;
  encode.parse_special = !flags.no_special;
  std::vector<int32_t> ids = engine.tokenizer().encode(input_text(flags.text), encode);
  if (ids.empty() && engine.tokenizer().bos() >= 0) ids.push_back(engine.tokenizer().bos());
  if (ids.empty()) throw Error("the prompt is empty", flags.model, "This model has no start token; give some text");
  return ids;
}

// Tokens whose logits were computed after the prompt's: the first one came with the prompt.
int64_t decoded_tokens(const Generation& g) { return std::max<int64_t>(0, static_cast<int64_t>(g.ids.size()) - 1); }

nlohmann::json to_json(const Generation& g, std::span<const int32_t> prompt, const Engine& engine) {
  return {{"text", g.text},
          {"prompt_ids", std::vector<int32_t>(prompt.begin(), prompt.end())},
          {"ids", g.ids},
          {"stop_reason", to_string(g.reason)},
          {"timings",
           {{"clock", "measured"},
            {"prompt_tokens", g.prompt_tokens},
            {"prompt_ms", g.prompt_seconds * 1e3},
            {"prompt_per_second", per_second(g.prompt_tokens, g.prompt_seconds)},
            {"predicted_tokens", g.ids.size()},
            {"predicted_ms", g.predicted_seconds * 1e3},
            {"predicted_per_second", per_second(decoded_tokens(g), g.predicted_seconds)}}},
          {"device", engine.device_names()},
          {"plan", engine.plan_name()},
          {"plan_asked", engine.plan_asked()},
          {"plan_ran", plans_json(engine.plans_ran())},
          {"act", to_string(engine.act())},
          {"bits", bits_json(engine)},
          {"experts", experts_json(engine)},
          {"online_compile",
           {{"clock", "modelled"},
            {"graphs", engine.online_compiles().graphs},
            {"ms", engine.online_compiles().seconds * 1e3}}},
          {"memory",
           {{"activation_bytes", engine.activation_bytes()},
            {"cache_bytes", engine.cache_bytes()},
            {"weight_bytes", engine.weight_bytes()}}},
          {"context", engine.context()}};
}

// The same prompt and tokens on the chip of --soc.
struct OnChip {
  std::string soc, plan;
  SocClock::Figures prompt, predicted;
};

std::optional<SocClock> clock_of(const CommonFlags& flags, const Engine& engine) {
  if (flags.soc.empty()) return std::nullopt;
  return std::optional<SocClock>(
      std::in_place, soc_request(flags, flags.model, usual_type(engine.file()), engine.context(), engine.context()));
}

OnChip run_on(const SocClock& clock, const Generation& g) {
  OnChip chip{clock.profile().name, clock.strategy(), clock.prompt(g.prompt_tokens, 0), {}};
  if (decoded_tokens(g) > 0) chip.predicted = clock.tokens(decoded_tokens(g), g.prompt_tokens);
  return chip;
}

nlohmann::json to_json(const OnChip& chip, const Generation& g) {
  return {{"clock", "modelled"},
          {"soc", chip.soc},
          {"plan", chip.plan},
          {"prompt_ms", chip.prompt.seconds * 1e3},
          {"prompt_per_second", per_second(g.prompt_tokens, chip.prompt.seconds)},
          {"predicted_ms", chip.predicted.seconds * 1e3},
          {"predicted_per_second", per_second(decoded_tokens(g), chip.predicted.seconds)},
          {"joules", chip.prompt.joules + chip.predicted.joules}};
}

void print_summary(const OnChip& chip, const Generation& g) {
  std::fprintf(
      stderr,
      "on %s: prompt %.1f tokens/s, generating %.1f tokens/s, %.3f J (modelled, plan %s; nothing of it was run)\n",
      chip.soc.c_str(), per_second(g.prompt_tokens, chip.prompt.seconds),
      per_second(decoded_tokens(g), chip.predicted.seconds), chip.prompt.joules + chip.predicted.joules,
      chip.plan.c_str());
}

void print_summary(const Generation& g, const Engine& engine) {
  std::fprintf(stderr,
               "prompt %lld tokens, %.1f tokens/s; generated %zu tokens, %.1f tokens/s (measured); stopped: %s; device "
               "%s; plan %s\n",
               static_cast<long long>(g.prompt_tokens), per_second(g.prompt_tokens, g.prompt_seconds), g.ids.size(),
               per_second(decoded_tokens(g), g.predicted_seconds), to_string(g.reason), engine.device_names().c_str(),
               engine.plan_name().c_str());
}

}  // namespace

int run_command(const CommonFlags& flags) {
  apply_verbosity(flags);
  const auto engine = open_engine(flags, {.may_join_later = true});
  print_notes(flags, *engine);
  const std::optional<SocClock> clock = clock_of(flags, *engine);
  const std::vector<int32_t> prompt = prompt_ids(flags, *engine);

  GenerateOptions options;
  options.predict = flags.predict;
  options.sampler.temperature = flags.temp;
  options.sampler.top_k = flags.top_k;
  options.sampler.top_p = flags.top_p;
  options.sampler.min_p = flags.min_p;
  options.sampler.repeat_penalty = flags.repeat_penalty;
  options.sampler.seed = flags.seed;
  options.stop = flags.stop;
  options.ignore_end = flags.ignore_eos;
  options.interrupted = [] { return interrupted(); };
  const bool to_terminal = isatty(STDOUT_FILENO);
  if (!flags.json) {
    options.on_text = [](std::string_view text) { std::cout << text << std::flush; };
    // A reader wants to see what is being continued; the output itself is the generated text alone.
    if (to_terminal && !flags.quiet()) options.on_ready = [&] { std::cerr << input_text(flags.text) << std::flush; };
  }
  Progress progress("prompt", ProgressUnit::tokens, !flags.quiet() && Progress::stderr_is_terminal());
  engine->prefill_progress = [&](int64_t done, int64_t total) {
    progress.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  };
  TraceFile trace(flags, *engine);
  const Generation result = generate(*engine, prompt, options);
  trace.finish();
  progress.clear();

  if (flags.json) {
    nlohmann::json object = to_json(result, prompt, *engine);
    if (clock) object["model_clock"] = to_json(run_on(*clock, result), result);
    print_json(object);
  } else if (to_terminal) {
    std::cout << '\n' << std::flush;
  }
  if (!flags.quiet() && !flags.json) {
    if (!to_terminal) std::fputc('\n', stderr);  // both may end in one log
    print_summary(result, *engine);
    print_experts(flags, *engine);
    if (const GraphCompiles& compiled = engine->online_compiles(); compiled.graphs > 0) {
      std::fprintf(
          stderr,
          "the NPU's compiler would have taken %.1f ms for %lld graphs of these lengths (modelled, not waited for)\n",
          compiled.seconds * 1e3, static_cast<long long>(compiled.graphs));
    }
    if (clock) print_summary(run_on(*clock, result), result);
  }
  if (result.reason == StopReason::context_full && !flags.quiet()) {
    std::fprintf(stderr, "the context of %lld tokens is full; ask for a larger one with --ctx-size\n",
                 static_cast<long long>(engine->context()));
  }
  return result.reason == StopReason::interrupted ? kInterrupted : kDone;
}

}  // namespace tandem::app
