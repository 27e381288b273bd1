// `tandem eval`: reads a text and says how fast, or how well the model predicts it.
#include "engine/app/commands/text/eval.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/app/command.h"
#include "engine/app/commands/bench/soc_clock.h"
#include "engine/app/commands/models/expert_use.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/text/routing_out.h"
#include "engine/app/commands/text/tokenize.h"
#include "engine/app/file_flags.h"
#include "engine/app/progress.h"
#include "engine/app/report.h"
#include "engine/app/text_input.h"
#include "engine/run/serve/perplexity.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/output_file.h"

namespace tandem::app {
namespace {

// The text is encoded before the engine opens, because the number of tokens decides the context.
std::vector<int32_t> tokens_of(const CommonFlags& flags, const EvalFlags& eval) {
  const GgufFile file = GgufFile::open(flags.model);
  if (!eval.ids_file.empty()) return parse_ids(read_file(eval.ids_file), read_config(file).vocabulary);
  EncodeOptions encode;
  encode.parse_special = !flags.no_special;
  std::vector<int32_t> ids = make_tokenizer(file)->encode(input_text(flags.text), encode);
  file.require_unchanged();
  return ids;
}

// Time and energy of the same pieces on the chip of --soc. A piece behind others takes longer than the first one, so
// each is priced at its own position.
SocClock::Figures figures(const SocClock& clock, int64_t count, int64_t chunk) {
  SocClock::Figures sum;
  for (int64_t first = 0; first < count; first += chunk) {
    const SocClock::Figures piece = clock.prompt(std::min(chunk, count - first), first);
    sum.seconds += piece.seconds;
    sum.joules += piece.joules;
  }
  return sum;
}

// The modelled time of the whole text, in an object of its own.
nlohmann::json on_chip(const SocClock& clock, int64_t count, int64_t chunk) {
  const SocClock::Figures sum = figures(clock, count, chunk);
  return {{"clock", "modelled"},
          {"soc", clock.profile().name},
          {"plan", clock.strategy()},
          {"eval_ms", sum.seconds * 1e3},
          {"joules", sum.joules}};
}

// Nothing of it ran, and the line says so, since measured and modelled speeds must not be confused.
void print_on_chip(const SocClock& clock, int64_t count, int64_t chunk) {
  const SocClock::Figures sum = figures(clock, count, chunk);
  std::fprintf(stderr, "on %s: %.1f tokens/s, %.3f J (modelled, plan %s; nothing of it was run)\n",
               clock.profile().name.c_str(), static_cast<double>(count) / sum.seconds, sum.joules,
               clock.strategy().c_str());
}

}  // namespace

// Runs one pass over all tokens in pieces of `chunk`. After each piece its logits are written and scored; that time is
// subtracted from the reported time. Logits of all tokens are needed, so the engine has room for the rows of a whole
// piece. The output file is committed at the end, so an error leaves no half of it where the system allows this.
int eval_command(const CommonFlags& flags, const EvalFlags& eval) {
  apply_verbosity(flags);
  const std::vector<int32_t> ids = tokens_of(flags, eval);
  if (ids.empty())
    throw Error("there is nothing to evaluate", eval.ids_file.empty() ? "the text" : eval.ids_file,
                "Give at least one token");
  if (eval.perplexity) require_two_tokens(ids, eval.ids_file.empty() ? "the text" : eval.ids_file);
  const auto count = static_cast<int64_t>(ids.size());
  const int64_t chunk = std::min(count, flags.engine.chunk > 0 ? flags.engine.chunk : kDefaultChunk);
  const auto engine = open_engine(flags, {std::max<int64_t>(count, flags.ctx_size), chunk, chunk});
  print_notes(flags, *engine);
  std::optional<SocClock> clock;
  if (!flags.soc.empty())
    clock.emplace(soc_request(flags, flags.model, usual_type(engine->model().file()), chunk, count));

  std::optional<OutputFile> logits_file;
  if (!eval.logits_out.empty()) logits_file.emplace(eval.logits_out, while_unread(eval.logits_out));
  Progress progress("evaluating", ProgressUnit::tokens, !flags.quiet() && Progress::stderr_is_terminal());
  TraceFile trace(flags, *engine);
  RoutingOut routing(flags, *engine);
  LogLikelihood likelihood;
  const auto V = static_cast<size_t>(engine->model().config().vocabulary);
  const double start = now_seconds();
  RouterMargins margins;
  double judging = 0;  // seconds for writing and scoring, which is not evaluating
  const auto judge = [&](int64_t first, std::span<const float> logits) {
    const double begin = now_seconds();
    require_finite(*engine, logits, first);
    if (logits_file) logits_file->write(std::as_bytes(logits));
    if (eval.perplexity) {
      for (size_t s = 0; s * V < logits.size(); ++s) {
        // Logits of a token predict the next one; the last token predicts nothing that is known.
        const size_t next = static_cast<size_t>(first) + s + 1;
        if (next >= ids.size()) break;
        likelihood.negative_log_sum += negative_log_likelihood(logits.subspan(s * V, V), ids[next]);
        ++likelihood.tokens;
      }
    }
    add_margins(margins, *engine);
    judging += now_seconds() - begin;
  };
  Sequence text = engine->cache().new_sequence();
  extend_all(*engine, text, ids, judge, until_interrupted(&progress));
  const double seconds = now_seconds() - start - judging;
  trace.finish();
  routing.finish();
  progress.clear();
  if (logits_file) logits_file->commit();

  if (flags.json) {
    nlohmann::json out = {{"n_tokens", count},
                          {"n_vocab", V},
                          {"chunk", chunk},
                          {"eval_ms", seconds * 1e3},
                          {"clock", "measured"},
                          {"device", engine->machine().device_names()},
                          {"plan", engine->plans().name()},
                          {"plan_asked", engine->options().plan},
                          {"plan_ran", plans_json(engine->plans().ran().list())},
                          {"act", to_string(*engine->options().act)},
                          {"bits", bits_json(*engine)},
                          {"context", engine->sizes().context},
                          {"cache_bytes", engine->cache().bytes()}};
    if (clock) out["model_clock"] = on_chip(*clock, count, chunk);
    if (eval.perplexity) {
      out["perplexity"] = likelihood.perplexity();
      out["mean_nll"] = likelihood.mean();
      out["nll_tokens"] = likelihood.tokens;
    }
    if (margins.decisions > 0) out["router"] = router_json(margins);
    if (auto experts = experts_json(*engine); !experts.is_null()) out["experts"] = std::move(experts);
    if (auto units = near_memory_json(*engine); !units.is_null()) out["near_memory"] = std::move(units);
    if (auto experts = expert_store_json(*engine); !experts.is_null()) out["expert_store"] = std::move(experts);
    if (auto loads = graph_loads_json(*engine); !loads.is_null()) out["npu_memory"] = std::move(loads);
    if (!eval.logits_out.empty()) out["logits"] = eval.logits_out;
    print_json(out);
    return kDone;
  }
  if (eval.perplexity) {
    std::cout << "perplexity " << likelihood.perplexity() << " (mean negative log-likelihood " << likelihood.mean()
              << " of " << likelihood.tokens << " tokens)\n";
  }
  if (!flags.quiet()) {
    std::fprintf(stderr, "evaluated %lld tokens in pieces of %lld, %.1f tokens/s (measured); device %s; plan %s\n",
                 static_cast<long long>(count), static_cast<long long>(chunk), static_cast<double>(count) / seconds,
                 engine->machine().device_names().c_str(), engine->plans().name().c_str());
    print_experts(flags, *engine);
    print_near_memory(flags, *engine);
    print_expert_store(flags, *engine);
    print_graph_loads(flags, *engine);
    if (margins.near_ties > 0)
      std::fprintf(stderr,
                   "%lld of %lld choices of experts were near ties (within %g): other roundings may choose otherwise\n",
                   static_cast<long long>(margins.near_ties), static_cast<long long>(margins.decisions), kNearTie);
    if (clock) print_on_chip(*clock, count, chunk);
  }
  return kDone;
}

}  // namespace tandem::app
