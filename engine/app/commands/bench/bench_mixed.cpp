#include "engine/app/commands/bench/bench_mixed.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/commands/bench/bench_verify.h"
#include "engine/app/commands/bench/mixed_traffic.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/text/generation.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "engine/plan/prediction/statistics.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "tandem/generate.h"

namespace tandem::app {
namespace {

// The sums of one repetition.
struct Served {
  int64_t prompt_tokens = 0, written_tokens = 0;
  Batcher::Totals ran;
  double seconds = 0;
  Preparations prepared;
  std::vector<std::vector<int32_t>> ids;  // written ones of each request

  double rate() const { return per_second(prompt_tokens + written_tokens, seconds); }
};

// The traffic of one width, and what its repetitions took.
struct MixedRow {
  int64_t width = 0, most_prompt = 0, most_written = 0;
  std::vector<Served> repetitions;
};

// Random tokens for each request of one repetition, so requests share no prefix. The generator's bits are standard.
std::vector<std::vector<int32_t>> prompts_of(const Engine& engine, const std::vector<MixedRequest>& requests,
                                             uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto vocabulary = static_cast<uint64_t>(engine.model().vocabulary());
  std::vector<std::vector<int32_t>> prompts;
  for (const MixedRequest& request : requests) {
    std::vector<int32_t>& prompt = prompts.emplace_back();
    while (std::ssize(prompt) < request.prompt) prompt.push_back(static_cast<int32_t>((random() >> 11) % vocabulary));
  }
  return prompts;
}

// Requests write as many tokens as the traffic says, whatever the model's end token does.
GenerateOptions options_for(int64_t tokens) {
  GenerateOptions options;
  options.predict = tokens;
  options.ignore_end = true;
  options.interrupted = [] { return interrupted(); };
  return options;
}

// Each repetition has a seed of its own.
MixedTraffic traffic_of(const MixedRow& row, const BenchFlags& bench, uint64_t seed) {
  return {bench.mixed, row.width, row.most_prompt, row.most_written, seed};
}

// Serves all requests. Time counts in passes, so an idle server goes to the next arrival at once.
Served serve(Engine& engine, const std::vector<MixedRequest>& requests, std::vector<std::vector<int32_t>> prompts,
             int64_t width) {
  Batcher batcher(engine, width);
  Served served;
  served.ids.resize(requests.size());
  std::exception_ptr error;
  const Preparations before = engine.plans().preparations();
  const double start = now_seconds();
  size_t next = 0;
  for (int64_t pass = 0; next < requests.size() || batcher.active() + batcher.waiting() > 0; ++pass) {
    if (batcher.active() + batcher.waiting() == 0) pass = std::max(pass, requests[next].arrives);
    for (; next < requests.size() && requests[next].arrives <= pass; ++next) {
      const MixedRequest& request = requests[next];
      batcher.add(std::move(prompts[next]), options_for(request.written),
                  [&served, &error, next](Batcher::Result result) {
                    if (result.error) error = result.error;
                    served.ids[next] = std::move(result.generation.ids);
                  });
      served.prompt_tokens += request.prompt;
    }
    batcher.step();
    if (interrupted()) throw Interrupted();
    if (error) std::rethrow_exception(error);
  }
  served.seconds = now_seconds() - start;
  const Preparations after = engine.plans().preparations();
  served.prepared = {after.plans - before.plans, after.seconds - before.seconds};
  served.ran = batcher.totals();
  for (const std::vector<int32_t>& ids : served.ids) served.written_tokens += std::ssize(ids);
  return served;
}

// The numeric contract promises the ids that a request gets alone. Other devices may choose another token where two
// logits are nearly equal, so nothing is compared there.
void verify_mixed(Engine& engine, const MixedRow& row, const BenchFlags& bench) {
  constexpr size_t kCompared = 8;
  if (engine.contract().bits_depend_on_passes) return;
  std::vector<MixedRequest> requests = mixed_requests(traffic_of(row, bench, 0));
  requests.resize(std::min(requests.size(), kCompared));
  const std::vector<std::vector<int32_t>> prompts = prompts_of(engine, requests, 0);
  const Served together = serve(engine, requests, prompts, row.width);
  for (size_t i = 0; i < requests.size(); ++i) {
    const Generation alone = generate(engine, prompts[i], options_for(requests[i].written));
    if (interrupted()) throw Interrupted();
    if (alone.ids != together.ids[i])
      throw Error("a text among others differs from the same text alone", engine.machine().device_names(),
                  "Please report this with the devices and the model");
  }
}

// Speeds are medians of the repetitions, with all samples beside them. Plans prepared are a mean over the repetitions,
// and the time for them is a share of a repetition's time. Tokens of a pass are those of the last repetition.
nlohmann::json mixed_json(const MixedRow& row, const BenchFlags& bench, const Engine& engine,
                          const Verification& with_host) {
  std::vector<double> rates, written, shares;
  double plans = 0, seconds = 0;
  for (const Served& each : row.repetitions) {
    rates.push_back(each.rate());
    written.push_back(per_second(each.written_tokens, each.seconds));
    shares.push_back(each.prepared.seconds / each.seconds);
    plans += static_cast<double>(each.prepared.plans), seconds += each.prepared.seconds;
  }
  const Served& last = row.repetitions.back();
  return {{"clock", "measured"},
          {"pl", row.width},
          {"requests", bench.mixed},
          {"pp_most", row.most_prompt},
          {"tg_most", row.most_written},
          {"speed", median(rates)},
          {"speed_tg", median(written)},
          {"tokens_per_pass", static_cast<double>(last.ran.pass_tokens) / static_cast<double>(last.ran.passes)},
          {"plans_prepared", plans / static_cast<double>(row.repetitions.size())},
          {"ms_a_plan", plans > 0 ? seconds * 1e3 / plans : 0},
          {"preparing_share", median(shares)},
          {"repetitions", row.repetitions.size()},
          {"samples", rates},
          {"verified", verification_json(with_host)},
          {"device", engine.machine().device_names()},
          {"plan", engine.plans().name()},
          {"act", to_string(*engine.options().act)}};
}

void print_mixed_table(const nlohmann::json& rows) {
  std::printf(
      "| B | requests | PP up to | TG up to | t/s | written t/s | tokens a pass | plans made | ms a plan | of the time "
      "|\n");
  std::printf("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const auto& row : rows) {
    const auto whole = [&](const char* key) { return static_cast<long long>(row.at(key).get<int64_t>()); };
    const auto number = [&](const char* key) { return row.at(key).get<double>(); };
    std::printf("| %lld | %lld | %lld | %lld | %.2f | %.2f | %.1f | %.0f | %.2f | %.1f %% |\n", whole("pl"),
                whole("requests"), whole("pp_most"), whole("tg_most"), number("speed"), number("speed_tg"),
                number("tokens_per_pass"), number("plans_prepared"), number("ms_a_plan"),
                100 * number("preparing_share"));
  }
}

std::vector<MixedRow> mixed_rows(const BenchFlags& bench) {
  std::vector<MixedRow> rows;
  for (const int64_t prompt : bench.n_prompt)
    for (const int64_t written : bench.n_gen)
      for (const int64_t width : bench.parallel) rows.push_back({width, prompt, written, {}});
  return rows;
}

}  // namespace

// Has the steps of bench_command(): verify, warm up, time, print. The warm-up serves requests too, so kernels are
// compiled and the most frequent plans are there.
int bench_mixed_command(const CommonFlags& flags, const BenchFlags& bench) {
  apply_verbosity(flags);
  std::vector<MixedRow> rows = mixed_rows(bench);
  EngineNeeds needs;
  for (const MixedRow& row : rows) {
    needs.context = std::max({needs.context, flags.ctx_size, row.most_prompt + row.most_written, int64_t{64}});
    needs.sequences = std::max(needs.sequences, row.width);
  }
  const auto engine = open_engine(flags, needs);
  print_notes(flags, *engine, needs.context);
  const Verification with_host = verify_against_host(flags, *engine);
  for (const MixedRow& row : rows) verify_mixed(*engine, row, bench);
  TraceFile trace(flags, *engine);
  nlohmann::json out = nlohmann::json::array();
  for (MixedRow& row : rows) {
    const auto run = [&](uint64_t seed) {
      const std::vector<MixedRequest> requests = mixed_requests(traffic_of(row, bench, seed));
      return engine->machine().orchestrator().run(
          [&] { return serve(*engine, requests, prompts_of(*engine, requests, seed), row.width); });
    };
    run(1);
    engine->plans().ran().clear();
    for (int i = 0; i < bench.repetitions; ++i) row.repetitions.push_back(run(static_cast<uint64_t>(2 + i)));
    out.push_back(mixed_json(row, bench, *engine, with_host));
  }
  trace.finish();
  constexpr const char* kColumns[] = {"pl",        "requests",        "pp_most",         "tg_most",
                                      "speed",     "speed_tg",        "tokens_per_pass", "plans_prepared",
                                      "ms_a_plan", "preparing_share", "device"};
  if (bench.output == "json")
    print_json(out);
  else if (bench.output == "csv")
    print_csv(out, kColumns);
  else
    print_mixed_table(out);
  if (!flags.quiet() && bench.output == "md")
    std::fprintf(stderr, "medians of %d repetitions with other requests each (measured); device %s; plan %s\n",
                 bench.repetitions, engine->machine().device_names().c_str(), engine->plans().name().c_str());
  return kDone;
}

}  // namespace tandem::app
