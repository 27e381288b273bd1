#include "engine/app/commands/bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "engine/app/command.h"
#include "engine/app/commands/bench_breakdown.h"
#include "engine/app/commands/bench_report.h"
#include "engine/app/commands/bench_roofline.h"
#include "engine/app/commands/bench_row.h"
#include "engine/app/commands/bench_soc.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

// Tokens begin .. end of one endless text. What is in the context is always its beginning, so a context that is deep
// enough need only be cut.
std::vector<int32_t> some_tokens(int64_t vocabulary, int64_t begin, int64_t end) {
  std::vector<int32_t> ids;
  uint64_t state = 1;
  for (int64_t i = 0; i < end; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if (i >= begin) ids.push_back(static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocabulary)));
  }
  return ids;
}

// Before anything is timed: logits of a short prompt must be those of the host's plain loops. Returns the largest
// difference.
double verify(const CommonFlags& flags, Engine& engine) {
  constexpr int64_t kTokens = 6;
  const auto ids = some_tokens(engine.config().vocabulary, 0, kTokens);
  CommonFlags plain = flags;
  plain.plan = "host-only";
  plain.devices = {"host"};
  plain.split.clear();
  plain.act = engine.act();
  plain.trace.clear();
  plain.verbosity = -1;
  const auto host = open_engine(plain, {64, 0, 1});
  const std::span<const float> expected = host->extend(ids);
  engine.rewind(0);
  const std::span<const float> got = engine.extend(ids);
  double largest = 0, magnitude = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - expected[i]);
    if (!(difference <= largest)) largest = difference;
    magnitude = std::max(magnitude, std::abs(static_cast<double>(expected[i])));
  }
  // Norms and softmax may round differently on each device; f16 activations then move whole f16 steps (2^-11), which
  // add up over layers.
  const double allowed = 0.02 * std::max(1.0, magnitude);
  if (!(largest <= allowed)) {
    std::ostringstream text;
    text << "largest difference of a logit " << largest << ", allowed " << allowed;
    throw Error("the result is wrong, so there is nothing to time",
                engine.device_names() + ", plan " + engine.plan_name() + ": " + text.str(),
                "Please report this with the output of `tandem devices --json`");
  }
  engine.rewind(0);
  return largest;
}

void fill_context(Engine& engine, int64_t depth) {
  if (engine.position() < depth)
    engine.extend(some_tokens(engine.config().vocabulary, engine.position(), depth));
  else
    engine.rewind(depth);
}

// Seconds of the row's test once.
double time_once(Engine& engine, const BenchRow& row) {
  fill_context(engine, row.n_depth);
  const auto ids = some_tokens(engine.config().vocabulary, row.n_depth, row.n_depth + row.tokens());
  const size_t piece = row.n_gen == 0 ? ids.size() : 1;
  const double start = now_seconds();
  for (size_t i = 0; i < ids.size(); i += piece) engine.extend(std::span(ids).subspan(i, piece));
  return now_seconds() - start;
}

// One token behind the row's context: what something else drove out of the caches comes back.
void warm_up(Engine& engine, const BenchRow& row) {
  fill_context(engine, row.n_depth);
  engine.extend(some_tokens(engine.config().vocabulary, row.n_depth, row.n_depth + 1));
}

// Recording changes how some devices are launched, so it has a warm-up of its own.
Breakdown record_once(Engine& engine, const BenchRow& row) {
  Timeline warming, timeline;
  engine.record(&warming);
  time_once(engine, row);
  engine.record(&timeline);
  time_once(engine, row);
  engine.record(nullptr);
  return break_down(timeline);
}

void time_row(Engine& engine, BenchRow& row, int repetitions, BenchRoofline* roofline) {
  time_once(engine, row);  // compiles, fills caches
  for (int i = 0; i < repetitions; ++i) {
    if (interrupted()) throw Engine::Interrupted();
    if (roofline) {
      roofline->measure_peaks();
      warm_up(engine, row);
    }
    row.seconds.push_back(time_once(engine, row));
  }
  if (roofline) row.roofline = roofline->take(row);
}

}  // namespace

int bench_command(const CommonFlags& flags, const BenchFlags& bench) {
  std::vector<BenchRow> rows = bench_rows(bench);
  int64_t longest = 64;
  for (const BenchRow& row : rows) longest = std::max(longest, row.n_depth + row.tokens());

  const auto engine = open_engine(flags, {std::max(longest, flags.ctx_size), 0, 1});
  print_notes(flags, *engine);
  const double difference = verify(flags, *engine);
  TraceFile trace(flags, *engine);
  std::optional<BenchRoofline> roofline;
  if (bench.roofline) roofline.emplace(*engine);
  for (BenchRow& row : rows) {
    time_row(*engine, row, bench.repetitions, roofline ? &*roofline : nullptr);
    if (bench.breakdown) row.breakdown = record_once(*engine, row);
  }
  trace.finish();

  std::optional<SocClock> clock;
  if (!flags.soc.empty())
    clock.emplace(SocRequest{flags.soc, flags.model, usual_type(engine->file()), flags.plan, engine->chunk(), longest});
  if (flags.json || bench.output == "json") {
    nlohmann::json array = bench_json(rows, flags, *engine, difference);
    for (size_t i = 0; clock && i < rows.size(); ++i) add_model_clock(array[i], *clock, rows[i], engine->chunk());
    print_json(array);
  } else if (bench.output == "csv") {
    print_bench_csv(bench_json(rows, flags, *engine, difference));
  } else {
    print_bench_table(rows, *engine);
    if (clock) print_soc_table(*clock, rows, engine->chunk());
    if (roofline) roofline->print_table(rows);
    for (const BenchRow& row : rows) print_breakdown(row);
    if (!flags.quiet()) {
      std::fprintf(stderr, "verified against host-only before timing: largest difference of a logit %.2g; %s\n",
                   difference, to_string(engine->layout()).c_str());
    }
  }
  return kDone;
}

}  // namespace tandem::app
