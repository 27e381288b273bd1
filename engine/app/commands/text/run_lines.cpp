// `tandem run --jsonl` and several files: many prompts that share passes. Answers come in the order of the prompts, or
// as texts end (`unordered`).
#include "engine/app/commands/text/run_lines.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/text/constraints.h"
#include "engine/app/commands/text/draft_report.h"
#include "engine/app/commands/text/generation.h"
#include "engine/app/commands/text/prompting.h"
#include "engine/app/commands/text/routing_out.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "engine/run/serve/generate.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "tandem/generate.h"

namespace tandem::app {
namespace {

// Sums over all answers, for the last line.
struct Sums {
  int64_t prompts = 0, prompt_tokens = 0, kept = 0, generated = 0, drafts = 0, accepted = 0;
  bool stopped = false;
};

// Reads prompts while there is room for them, and answers them.
class Asking {
 public:
  // Everything that all prompts share is made once: template, forms, draft model and batcher.
  Asking(const CommonFlags& flags, const ManyPrompts& many, const Form& form, Engine& engine)
      : many_(many),
        engine_(engine),
        prompting_(flags, engine.model()),
        constraints_(engine.model().tokenizer(), form),
        batcher_(engine, many.parallel),
        answers_(many),
        draft_model_(open_draft_model(flags, engine, many.parallel)),
        notes_(flags) {
    notes_.explain(flags.generate.spec.mode, engine);
    prompting_.print_note();
  }

  // The batcher admits waiting requests by itself. Prompts are read only while there is room, so a long file does not
  // lie in memory and standard input is answered early.
  void run() {
    Prompts prompts(many_);
    bool more = true;
    while (!sums_.stopped) {
      more = more && prompts.fill(
                         many_.parallel, [this] { return batcher_.waiting() + batcher_.active(); },
                         [this](const Prompts::Asked& asked) { ask(asked); });
      if (!batcher_.step() && !more) break;
    }
  }
  bool stopped() const { return sums_.stopped; }
  int64_t failed() const { return answers_.failed(); }

  // Tokens a pass show how well texts shared the reading of the weights.
  void print_summary(double seconds) const {
    const Batcher::Totals& passes = batcher_.totals();
    const double each =
        passes.passes > 0 ? static_cast<double>(passes.pass_tokens) / static_cast<double>(passes.passes) : 0;
    std::fprintf(stderr,
                 "%lld prompts of %lld tokens, %lld of them shared with other prompts; generated %lld tokens; %.1f "
                 "tokens/s in all (measured), %.1f tokens a pass; %lld failed; device %s; plan %s\n",
                 static_cast<long long>(sums_.prompts), static_cast<long long>(sums_.prompt_tokens),
                 static_cast<long long>(sums_.kept), static_cast<long long>(sums_.generated),
                 per_second(passes.pass_tokens, seconds), each, static_cast<long long>(failed()),
                 engine_.machine().device_names().c_str(), engine_.plans().name().c_str());
    if (sums_.drafts > 0)
      std::fprintf(stderr, "drafts: %lld of %lld accepted\n", static_cast<long long>(sums_.accepted),
                   static_cast<long long>(sums_.drafts));
  }

 private:
  // A line may override --predict, --seed, --prediction and --spec. Errors of one prompt become its answer.
  void ask(const Prompts::Asked& asked) {
    try {
      const PromptLine line = Prompts::parse(asked);
      std::vector<int32_t> prompt = prompting_.ids(line.prompt);
      GenerateOptions options = prompting_.options();
      options.spec.model = draft_model_;
      options.constraint = constraints_.of(line);
      if (line.predict) options.predict = *line.predict;
      if (line.seed) options.sampler.seed = line.seed->value;
      if (line.spec) {
        options.spec.mode = *line.spec;
        notes_.explain(*line.spec, engine_);
      }
      if (line.predictions) {
        options.spec.predictions.clear();
        for (const std::string& text : *line.predictions)
          options.spec.predictions.push_back(prompting_.draft_texts().prediction(text));
      }
      // The answer reports the values of the options, too.
      batcher_.add(prompt, options, [this, asked, prompt, options](Batcher::Result result) {
        result.error ? answers_.fail(asked, result.error) : answer(asked, prompt, options, result.generation);
      });
    } catch (const Error&) {
      answers_.fail(asked, std::current_exception());
    }
  }

  // Prints one finished generation and adds it to the sums.
  void answer(const Prompts::Asked& asked, const std::vector<int32_t>& prompt, const GenerateOptions& options,
              const Generation& result) {
    answers_.add(asked, generation_json(result, prompt, prompting_.is_chat(), options, engine_));
    notes_.explain_draft_model(result);
    prompting_.explain_empty(result, describe(asked.name, many_));
    notes_.explain_history(prompting_.draft_texts().history_problem());
    sums_.stopped |= result.reason == StopReason::interrupted;
    ++sums_.prompts;
    sums_.prompt_tokens += result.prompt_tokens;
    sums_.kept += result.cached_prefix_tokens;
    sums_.generated += std::ssize(result.ids);
    sums_.drafts += result.drafts.drafts;
    sums_.accepted += result.drafts.accepted;
  }

  const ManyPrompts& many_;
  Engine& engine_;
  const Prompting prompting_;
  Constraints constraints_;
  Batcher batcher_;
  Answers answers_;
  const std::shared_ptr<DraftModel> draft_model_;  // null: none
  DraftNotes notes_;
  Sums sums_;
};

}  // namespace

// Opens the engine for as many sequences as texts at a time, answers all prompts, and prints a summary. A failed prompt
// decides the exit status, but does not end the command.
int run_many_command(const CommonFlags& flags, const ManyPrompts& many) {
  apply_verbosity(flags);
  const Form form = read_form(flags.form);
  const bool lines_may_ask = !many.lines.empty();  // for drafts, also beside --spec none
  const auto engine = open_engine(flags, needs_of_texts(flags, many.parallel, lines_may_ask));
  print_notes(flags, *engine);
  TraceFile trace(flags, *engine);
  RoutingOut routing(flags, *engine);
  Asking asking(flags, many, form, *engine);
  const double start = now_seconds();
  asking.run();
  trace.finish();
  routing.finish();
  if (!flags.quiet()) asking.print_summary(now_seconds() - start);
  print_near_memory(flags, *engine);
  print_expert_store(flags, *engine);
  print_drawn(flags, flags.seed);
  return asking.stopped() || interrupted() ? kInterrupted : asking.failed() > 0 ? kFailed : kDone;
}

}  // namespace tandem::app
