#include "engine/app/commands/bench/bench.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "engine/app/command.h"
#include "engine/app/commands/bench/bench_breakdown.h"
#include "engine/app/commands/bench/bench_report.h"
#include "engine/app/commands/bench/bench_roofline.h"
#include "engine/app/commands/bench/bench_row.h"
#include "engine/app/commands/bench/bench_soc.h"
#include "engine/app/commands/bench/bench_verify.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "engine/model/gguf.h"
#include "engine/model/weights.h"
#include "sync/clock.h"
#include "sync/long_wait.h"

namespace tandem::app {
namespace {

constexpr int64_t kLeastContext = 64;  // room for the tokens that are verified before timing

// Seconds of running the row's test once. A prompt is one call, which the engine cuts into its chunks. Generated tokens
// are one call each, on the machine's thread as in generate(). The tokens are random, so nothing is sampled and only
// passes are timed. Numbers that are not finite are an Error after the time is taken. An encoder makes the vector
// of a text.
double time_once(Engine& engine, Sequence& text, const BenchRow& row) {
  if (engine.model().config().sees_all) {
    const double start = now_seconds();
    vector_of_row(engine, row);
    return now_seconds() - start;
  }
  fill_context(engine, text, row.n_depth);
  const auto ids = some_tokens(engine.model().config().vocabulary, row.n_depth, row.n_depth + row.tokens());
  const size_t piece = row.n_gen == 0 ? ids.size() : 1;
  const ExtendOptions options = until_interrupted();
  return engine.machine().orchestrator().run([&] {
    const double start = now_seconds();
    double seconds = 0;
    for (size_t i = 0; i < ids.size(); i += piece) {
      const Logits logits = extend(engine, text, std::span(ids).subspan(i, piece), options);
      if (i + piece < ids.size()) continue;
      seconds = now_seconds() - start;
      require_finite(engine, logits, text.position() - 1);
    }
    return seconds;
  });
}

// Runs one token after the row's context. It brings weights back into caches from which other work has evicted them.
void warm_up(Engine& engine, Sequence& text, const BenchRow& row) {
  fill_context(engine, text, row.n_depth);
  extend(engine, text, some_tokens(engine.model().config().vocabulary, row.n_depth, row.n_depth + 1));
}

// Recording changes how some devices are launched, so the recorded run has its own warm-up. The warm-up is recorded on
// a timeline of its own, which is dropped.
Breakdown record_once(Engine& engine, Sequence& text, const BenchRow& row) {
  Timeline warming, timeline;
  engine.machine().record(&warming);
  time_once(engine, text, row);
  engine.machine().record(&timeline);
  time_once(engine, text, row);
  engine.machine().record(nullptr);
  return break_down(timeline);
}

// Measures the peaks before each repetition, so that peaks and rate belong to the same minute. The first run does not
// count and its plans are forgotten, so the report names the plans of the timed runs. Measuring a peak reads a large
// buffer, so a token runs between it and the repetition.
void time_row(Engine& engine, Sequence& text, BenchRow& row, int repetitions, BenchRoofline* roofline) {
  time_once(engine, text, row);  // compiles, fills caches
  engine.plans().ran().clear();
  for (int i = 0; i < repetitions; ++i) {
    if (interrupted()) throw Interrupted();
    if (roofline) {
      roofline->measure_peaks();
      warm_up(engine, text, row);
    }
    row.seconds.push_back(time_once(engine, text, row));
  }
  row.plans.assign(engine.plans().ran().list().begin(), engine.plans().ran().list().end());
  if (roofline) row.roofline = roofline->take(row);
}

// An encoder reads texts in one piece and writes none, so prompts alone are left.
std::vector<BenchRow> rows_of_encoder(const CommonFlags& flags, const BenchFlags& bench) {
  if (bench.roofline || !flags.soc.empty())
    throw Error("the work of an encoder's passes is not counted", flags.model, "leave --roofline and --soc out");
  std::vector<BenchRow> rows = bench_rows(bench);
  if (std::erase_if(rows, [](const BenchRow& row) { return row.n_gen > 0 || row.n_depth > 0; }) > 0 && !flags.quiet())
    std::fprintf(stderr, "note: the model is an encoder, so prompts at the beginning of a text alone are measured\n");
  if (rows.empty()) throw Error("there is nothing to measure", "an encoder", "Give -p a number above 0");
  return rows;
}

}  // namespace

// Verifies all rows first, then times them, then prints. The context is as large as the deepest row needs. A
// wrong result is an Error before any time is measured. The model clock only adds figures: nothing of it runs on
// this machine.
int bench_command(const CommonFlags& flags, const BenchFlags& bench) {
  apply_verbosity(flags);
  const bool is_encoder = read_config(GgufFile::open(flags.model)).sees_all;
  std::vector<BenchRow> rows = is_encoder ? rows_of_encoder(flags, bench) : bench_rows(bench);
  int64_t longest = flags.ctx_size;
  for (const BenchRow& row : rows) longest = std::max(longest, row.n_depth + row.tokens());

  EngineNeeds needs{std::max(longest, kLeastContext), 0, 1};
  if (is_encoder) needs.chunk = needs.context, needs.hidden_states = true;
  const auto engine = open_engine(flags, needs);
  print_notes(flags, *engine, longest);
  Sequence text = engine->cache().new_sequence();
  if (is_encoder) {
    verify_encoder(flags, *engine, rows);
  } else {
    const Verification with_host = verify_against_host(flags, *engine);
    for (BenchRow& row : rows) row.verification = verify_row(*engine, text, row, with_host);
  }
  TraceFile trace(flags, *engine);
  std::optional<BenchRoofline> roofline;
  if (bench.roofline) roofline.emplace(*engine);
  for (BenchRow& row : rows) {
    time_row(*engine, text, row, bench.repetitions, roofline ? &*roofline : nullptr);
    if (bench.breakdown) row.breakdown = record_once(*engine, text, row);
  }
  trace.finish();

  std::optional<SocClock> clock;
  if (!flags.soc.empty())
    clock.emplace(soc_request(flags, flags.model, usual_type(engine->model().file()), engine->sizes().tokens,
                              std::max(longest, kLeastContext)));
  if (flags.json || bench.output == "json") {
    nlohmann::json array = bench_json(rows, flags, *engine);
    for (size_t i = 0; clock && i < rows.size(); ++i)
      add_model_clock(array[i], *clock, rows[i], engine->sizes().tokens);
    print_json(array);
  } else if (bench.output == "csv") {
    print_bench_csv(bench_json(rows, flags, *engine));
  } else {
    print_bench_table(rows, *engine);
    if (clock) print_soc_table(*clock, rows, engine->sizes().tokens);
    if (roofline) roofline->print_table(rows);
    for (const BenchRow& row : rows) print_breakdown(row);
    if (!flags.quiet()) print_verified(rows, *engine);
  }
  return kDone;
}

}  // namespace tandem::app
