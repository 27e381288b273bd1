// `tandem run`: one text from one prompt. It may begin with a saved state, be drawn as a trace, and be put on the clock
// of a described chip.
#include "engine/app/commands/text/run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/commands/bench/soc_clock.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/text/constraints.h"
#include "engine/app/commands/text/draft_report.h"
#include "engine/app/commands/text/generation.h"
#include "engine/app/commands/text/prompting.h"
#include "engine/app/commands/text/routing_out.h"
#include "engine/app/file_flags.h"
#include "engine/app/progress.h"
#include "engine/app/report.h"
#include "engine/run/serve/generate.h"

namespace tandem::app {
namespace {

// Times of the same prompt and tokens on the chip of --soc.
struct OnChip {
  std::string soc, plan;
  SocClock::Figures prompt, predicted;
};

// The clock is made before anything runs, so an unknown chip or plan is an Error at once.
std::optional<SocClock> clock_of(const CommonFlags& flags, const Engine& engine) {
  if (flags.soc.empty()) return std::nullopt;
  return std::optional<SocClock>(std::in_place, soc_request(flags, flags.model, usual_type(engine.model().file()),
                                                            engine.sizes().context, engine.sizes().context));
}

// The chip has the prompt's time, and that of the tokens behind it if there are any.
OnChip run_on(const SocClock& clock, const Generation& g) {
  OnChip chip{clock.profile().name, clock.strategy(), clock.prompt(g.prompt_tokens, 0), {}};
  if (decoded_tokens(g) > 0) chip.predicted = clock.tokens(decoded_tokens(g), g.prompt_tokens);
  return chip;
}

// Everything in this object is modelled, so it is apart from the measured times.
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

// The line names the chip and says that nothing of it ran here.
void print_summary(const OnChip& chip, const Generation& g) {
  std::fprintf(
      stderr,
      "on %s: prompt %.1f tokens/s, generating %.1f tokens/s, %.3f J (modelled, plan %s; nothing of it was run)\n",
      chip.soc.c_str(), per_second(g.prompt_tokens, chip.prompt.seconds),
      per_second(decoded_tokens(g), chip.predicted.seconds), chip.prompt.joules + chip.predicted.joules,
      chip.plan.c_str());
}

// One line about the run: speeds, why the text ended, devices and plan.
void print_summary(const Generation& g, const Engine& engine) {
  std::fprintf(stderr,
               "prompt %lld tokens, %.1f tokens/s; generated %zu tokens, %.1f tokens/s (measured); stopped: %s; device "
               "%s; plan %s\n",
               static_cast<long long>(g.prompt_tokens), per_second(g.prompt_tokens, g.prompt_seconds), g.ids.size(),
               per_second(decoded_tokens(g), g.predicted_seconds), to_string(g.reason),
               engine.machine().device_names().c_str(), engine.plans().name().c_str());
  if (g.drafts.checked > 0)
    std::fprintf(stderr, "%lld tokens ran again alone and had the same bits\n",
                 static_cast<long long>(g.drafts.checked));
}

// Estimates the text's length before there is a tokenizer: a token has about four bytes. The estimate decides only
// whether the first text waits for a card, so it need not be exact.
TextAsked asked_of(const CommonFlags& flags) {
  constexpr uint64_t kBytesOfToken = 4;
  uint64_t bytes = flags.text.prompt.size();
  std::error_code unknown;  // set for anything but a plain file
  if (flags.text.has_file)
    if (const auto size = std::filesystem::file_size(flags.text.file, unknown); !unknown) bytes = size;
  return {static_cast<int64_t>(bytes / kBytesOfToken), flags.generate.predict};
}

// A sequence with the saved tokens that begin the prompt. The prompt's last token always runs, because it gives
// the logits. Saved tokens that the prompt lacks are dropped.
Sequence saved_beginning(const CommonFlags& flags, std::span<const int32_t> prompt, Engine& engine) {
  Sequence sequence = engine.cache().load(flags.load_state);
  const int64_t saved = sequence.position(),
                kept =
                    std::ranges::mismatch(sequence.ids(), prompt.first(prompt.size() - 1)).in1 - sequence.ids().begin();
  sequence.rewind(kept);
  if (!flags.quiet())
    std::fprintf(stderr, "%lld of %lld tokens of %s begin this text\n", static_cast<long long>(kept),
                 static_cast<long long>(saved), flags.load_state.c_str());
  return sequence;
}

}  // namespace

// Opens the engine, makes or restores the beginning of the text, generates, and reports. The generated text alone goes
// to standard output. On a terminal the prompt's text appears when all plans are ready, so lines about long work do not
// run into it.
int run_command(const CommonFlags& flags) {
  apply_verbosity(flags);
  const Form form = read_form(flags.form);
  EngineNeeds needs = needs_of_texts(flags, 1);
  needs.first_text = asked_of(flags);
  const auto engine = open_engine(flags, needs);
  print_notes(flags, *engine);
  const SpecMode mode = flags.generate.spec.mode;
  DraftNotes notes(flags);
  notes.explain(mode, *engine);
  const auto draft_model = open_draft_model(flags, *engine, 1);
  const std::optional<SocClock> clock = clock_of(flags, *engine);
  const Prompting prompting(flags, engine->model());
  prompting.print_note();
  const std::string text = input_text(flags.text);
  const std::vector<int32_t> prompt = prompting.ids(text);

  GenerateOptions options = prompting.options();
  options.spec.model = draft_model;
  options.constraint = Constraints(engine->model().tokenizer(), form).common();
  Sequence sequence =
      flags.load_state.empty() ? engine->cache().new_sequence() : saved_beginning(flags, prompt, *engine);
  const bool to_terminal = isatty(STDOUT_FILENO);
  if (!flags.json) {
    options.on_text = [](std::string_view piece) { std::cout << piece << std::flush; };
    // A reader wants to see the text that is continued or answered. Standard output has the generated text alone.
    if (to_terminal && !flags.quiet())
      options.on_ready = [&] { std::cerr << text << (prompting.is_chat() ? "\n\n" : "") << std::flush; };
  }
  Progress progress("prompt", ProgressUnit::tokens, !flags.quiet() && Progress::stderr_is_terminal());
  options.on_prompt = progress_of(progress);
  TraceFile trace(flags, *engine);
  RoutingOut routing(flags, *engine);
  const Generation result = generate(*engine, sequence, prompt, options);
  trace.finish();
  routing.finish();
  progress.clear();
  if (!flags.save_state.empty()) engine->cache().save(flags.save_state, sequence, while_unread(flags.save_state));

  if (flags.json) {
    nlohmann::json object = generation_json(result, prompt, prompting.is_chat(), options, *engine);
    if (clock) object["model_clock"] = to_json(run_on(*clock, result), result);
    print_json(object);
  } else if (to_terminal) {
    std::cout << '\n' << std::flush;
  }
  if (!flags.quiet() && !flags.json) {
    if (!to_terminal) std::fputc('\n', stderr);  // both streams may end in one log
    print_summary(result, *engine);
    if (mode != SpecMode::none && decoded_tokens(result) > 0)
      std::fprintf(stderr, "%s\n", drafts_line(result, mode).c_str());
    print_experts(flags, *engine);
    print_near_memory(flags, *engine);
    print_expert_store(flags, *engine);
    print_graph_loads(flags, *engine);
    if (const GraphCompiles& compiled = engine->plans().online_compiles(); compiled.graphs > 0) {
      std::fprintf(
          stderr,
          "the NPU's compiler would have taken %.1f ms for %lld graphs of these lengths (modelled, not waited for)\n",
          compiled.seconds * 1e3, static_cast<long long>(compiled.graphs));
    }
    if (clock) print_summary(run_on(*clock, result), result);
  }
  notes.explain_draft_model(result);
  prompting.explain_empty(result, "");
  notes.explain_history(prompting.draft_texts().history_problem());
  if (result.reason == StopReason::context_full && !flags.quiet()) {
    std::fprintf(stderr, "the context of %lld tokens is full; ask for a larger one with --ctx-size\n",
                 static_cast<long long>(engine->sizes().context));
  }
  if (!flags.json) print_drawn(flags, flags.seed);
  return result.reason == StopReason::interrupted ? kInterrupted : kDone;
}

}  // namespace tandem::app
