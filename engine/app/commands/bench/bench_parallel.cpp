#include "engine/app/commands/bench/bench_parallel.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/commands/bench/bench_verify.h"
#include "engine/app/commands/bench/verification.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/text/generation.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/run/pass/not_finite.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem::app {
namespace {

struct Row {
  int64_t prompt = 0, generated = 0, width = 0;
  std::vector<double> prompt_seconds, generated_seconds;  // of each repetition
  Verification verification{};

  int64_t tokens() const { return width * (prompt + generated); }
};

// Text i begins at token 1000 i of one endless text.
std::vector<int32_t> ids_of_text(const Engine& engine, int64_t i, int64_t length) {
  return some_tokens(engine.model().config().vocabulary, 1000 * i, 1000 * i + length);
}

// The texts of a row, one for each unit of its width.
class Texts {
 public:
  Texts(Engine& engine, int64_t width, int64_t length) : engine_(engine) {
    for (int64_t i = 0; i < width; ++i) {
      ids_.push_back(ids_of_text(engine, i, length));
      sequences_.push_back(engine.cache().new_sequence());
    }
  }

  // Reads each text up to `end`, in passes that are as full as possible. Returns the last tokens' logits; if all texts
  // end in one pass, in the order of the texts. The last token of each text asks for logits, and no other token does. A
  // text that has no token left is not in the pass.
  Logits read_to(int64_t end) {
    Logits logits;
    for (;;) {
      std::vector<Extension> pass;
      int64_t room = engine_.sizes().tokens;
      for (size_t i = 0; i < ids_.size() && room > 0; ++i) {
        const int64_t rest = end - sequences_[i].position(), some = std::min(rest, room);
        if (some == 0) continue;
        const auto from = static_cast<size_t>(sequences_[i].position());
        pass.push_back(
            {&sequences_[i], std::span(ids_[i]).subspan(from, static_cast<size_t>(some)), some == rest ? 1 : 0});
        room -= some;
      }
      if (pass.empty()) return logits;
      if (interrupted()) throw Interrupted();
      logits = {};  // dropped before the next pass, so nothing is copied
      logits = engine_.extend(pass);
    }
  }

 private:
  Engine& engine_;
  std::vector<std::vector<int32_t>> ids_;
  std::vector<Sequence> sequences_;
};

// Writes short prompts and single tokens after them together. Then the texts give their pages back, and each is written
// alone. The numeric contract promises equal bits for a text alone and among others (docs/numbers.md). Devices with
// different sums or roundings are compared within a tolerance.
Verification verify_width(Engine& engine, int64_t width) {
  constexpr int64_t kPrompt = 5, kSingle = 2;
  const auto V = static_cast<size_t>(engine.model().config().vocabulary);
  std::string why;
  if (engine.contract().bits_depend_on_passes) why = "the devices' sums depend on the tokens of a pass";
  Verification verification(std::move(why));
  std::vector<Logits> together;  // after each end
  {
    Texts texts(engine, width, kPrompt + kSingle);
    for (int64_t end = kPrompt; end <= kPrompt + kSingle; ++end) {
      together.push_back(texts.read_to(end));
      if (!all_finite(together.back())) throw engine.not_finite(end - 1);
    }
  }
  for (size_t step = 0; step < together.size(); ++step) {
    // If the prompts end in several passes, their logits are not all here. Then only the single tokens are compared.
    if (together[step].size() != V * static_cast<size_t>(width)) continue;
    for (int64_t i = 0; i < width; ++i) {
      Sequence alone = engine.cache().new_sequence();
      const Logits logits = extend(engine, alone, ids_of_text(engine, i, kPrompt + static_cast<int64_t>(step)));
      verification.compare(logits, together[step].values().subspan(static_cast<size_t>(i) * V, V));
    }
  }
  require(verification,
          engine.machine().device_names() + ", " + std::to_string(width) + " texts at once beside each alone");
  return verification;
}

// Times prompts and generated tokens apart. counts: false for a warm-up, whose times are dropped. Every run has new
// sequences, so no run finds keys and values of another one. All prompts end before the first token is generated, as
// in llama-batched-bench. The caller runs it on the machine's thread, so no pass waits for a change of threads.
void time_once(Engine& engine, Row& row, bool counts) {
  Texts texts(engine, row.width, row.prompt + row.generated);
  const double start = now_seconds();
  Logits logits = texts.read_to(row.prompt);
  const double read = now_seconds();
  for (int64_t end = row.prompt + 1; end <= row.prompt + row.generated; ++end) {
    logits = {};
    logits = texts.read_to(end);
  }
  const double written = now_seconds();
  if (!all_finite(logits)) throw engine.not_finite(row.prompt + row.generated - 1);
  if (!counts) return;
  row.prompt_seconds.push_back(read - start);
  row.generated_seconds.push_back(written - read);
}

// The widths vary fastest, so that neighbouring rows of the table differ in the number of texts.
std::vector<Row> rows_of(const BenchFlags& bench) {
  std::vector<Row> rows;
  for (const int64_t prompt : bench.n_prompt)
    for (const int64_t generated : bench.n_gen)
      for (const int64_t width : bench.parallel)
        if (prompt + generated > 0) rows.push_back({prompt, generated, width, {}, {}});
  if (rows.empty()) throw Error("there is nothing to measure", "bench", "Give -p or -n a number above 0");
  return rows;
}

// Keys are those of llama-batched-bench where it has the figure: pl is the number of texts, n_kv their tokens in all.
// Other keys are Tandem's own.
nlohmann::json to_json(const Row& row, const Engine& engine) {
  const double read = median(row.prompt_seconds), written = median(row.generated_seconds);
  return {{"clock", "measured"},
          {"pp", row.prompt},
          {"tg", row.generated},
          {"pl", row.width},
          {"n_kv", row.tokens()},
          {"t_pp", read},
          {"speed_pp", per_second(row.width * row.prompt, read)},
          {"t_tg", written},
          {"speed_tg", per_second(row.width * row.generated, written)},
          {"t", read + written},
          {"speed", per_second(row.tokens(), read + written)},
          {"repetitions", row.prompt_seconds.size()},
          {"samples_pp_s", row.prompt_seconds},
          {"samples_tg_s", row.generated_seconds},
          {"verified", verification_json(row.verification)},
          {"device", engine.machine().device_names()},
          {"plan", engine.plans().name()},
          {"act", to_string(*engine.options().act)}};
}

void print_table(const nlohmann::json& rows) {
  std::printf("| PP | TG | B | N_KV | T_PP s | S_PP t/s | T_TG s | S_TG t/s | T s | S t/s |\n");
  std::printf("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const auto& row : rows) {
    const auto whole = [&](const char* key) { return static_cast<long long>(row.at(key).get<int64_t>()); };
    const auto number = [&](const char* key) { return row.at(key).get<double>(); };
    std::printf("| %lld | %lld | %lld | %lld | %.3f | %.2f | %.3f | %.2f | %.3f | %.2f |\n", whole("pp"), whole("tg"),
                whole("pl"), whole("n_kv"), number("t_pp"), number("speed_pp"), number("t_tg"), number("speed_tg"),
                number("t"), number("speed"));
  }
}

}  // namespace

// Has the steps of bench_command(): verify, warm up, time, print. Each figure is a median over the repetitions.
int bench_parallel_command(const CommonFlags& flags, const BenchFlags& bench) {
  apply_verbosity(flags);
  std::vector<Row> rows = rows_of(bench);
  EngineNeeds needs;
  int64_t longest = flags.ctx_size;
  // All rows share one engine, which therefore needs the longest text and the largest width.
  for (const Row& row : rows) {
    longest = std::max(longest, row.prompt + row.generated);
    needs.context = std::max(longest, int64_t{64});
    needs.sequences = std::max(needs.sequences, row.width);
  }
  const auto engine = open_engine(flags, needs);
  print_notes(flags, *engine, longest);
  const Verification with_host = verify_against_host(flags, *engine);
  for (Row& row : rows) row.verification = verify_width(*engine, row.width);
  TraceFile trace(flags, *engine);
  nlohmann::json out = nlohmann::json::array();
  for (Row& row : rows) {
    engine->machine().orchestrator().run([&] { time_once(*engine, row, false); });  // compiles, fills caches
    engine->plans().ran().clear();
    for (int i = 0; i < bench.repetitions; ++i)
      engine->machine().orchestrator().run([&] { time_once(*engine, row, true); });
    out.push_back(to_json(row, *engine));
  }
  trace.finish();
  constexpr const char* kColumns[] = {"pp",   "tg",       "pl", "n_kv",  "t_pp",  "speed_pp",
                                      "t_tg", "speed_tg", "t",  "speed", "device"};
  if (bench.output == "json")
    print_json(out);
  else if (bench.output == "csv")
    print_csv(out, kColumns);
  else
    print_table(out);
  if (!flags.quiet() && bench.output == "md") {
    std::fprintf(stderr, "medians of %d repetitions (measured); logits of %lld tokens equal those of host-only: %s; ",
                 bench.repetitions, static_cast<long long>(with_host.tokens()), with_host.text().c_str());
    std::fprintf(stderr, "of each text written together those of it alone: %s; device %s; plan %s\n",
                 rows.back().verification.text().c_str(), engine->machine().device_names().c_str(),
                 engine->plans().name().c_str());
  }
  return kDone;
}

}  // namespace tandem::app
