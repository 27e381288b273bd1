// What all benches share: the default model, flags, turns, and the proof that engines agree before they are timed.
#include "bench/engines.h"

#include <spdlog/cfg/helpers.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::bench {

// The same places in the same order as the program and `./dev run`.
std::string default_model() {
  const char* named = std::getenv("TANDEM_MODEL");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (named && *named) return named;
  const std::string folder = cache && *cache ? cache : std::string(home ? home : "") + "/.cache";
  return folder + "/tandem/models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

void require_model(const std::string& path) {
  if (!std::filesystem::exists(path))
    throw Error("no model file", path, "Run `./dev run \"Hello\"` once, or name one on the command line");
}

// Ids spread over the vocabulary without a random generator, so runs are the same everywhere.
std::vector<int32_t> some_ids(int64_t vocabulary, int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((i * 7919 + 31) % vocabulary));
  return ids;
}

double time_prompt(Engine& engine, std::span<const int32_t> ids) {
  Sequence text = engine.cache().new_sequence();
  const double start = now_seconds();
  extend(engine, text, ids);
  return now_seconds() - start;
}

double time_decode(Engine& engine, std::span<const int32_t> ids, int64_t context) {
  Sequence text = engine.cache().new_sequence();
  extend(engine, text, ids.first(static_cast<size_t>(context)));
  const auto tokens = ids.subspan(static_cast<size_t>(context));
  return engine.machine().orchestrator().run([&] {
    const double start = now_seconds();
    for (const int32_t& id : tokens) extend(engine, text, std::span(&id, 1));
    return (now_seconds() - start) / static_cast<double>(tokens.size());
  });
}

// Each round begins with another participant, so that a slow second of a shared machine hits each of them in turn. The
// first round warms up and does not count.
void take_turns(size_t count, int rounds, const std::function<void(size_t i, bool counts)>& run) {
  for (int round = -1; round < rounds; ++round) {
    for (size_t i = 0; i < count; ++i) run((i + static_cast<size_t>(std::max(round, 0))) % count, round >= 0);
  }
}

// Compares bits, because plans of one engine must not differ in a single one.
void verify_equal(std::span<const std::unique_ptr<Engine>> engines, std::span<const int32_t> ids) {
  std::vector<float> first;
  for (const auto& engine : engines) {
    Sequence text = engine->cache().new_sequence();
    extend(*engine, text, ids);
    const Logits logits = extend(*engine, text, ids.first(1));  // checks a prompt and a single token
    if (first.empty()) {
      first.assign(logits.begin(), logits.end());
    } else if (std::memcmp(first.data(), logits.data(), logits.values().size_bytes()) != 0) {
      throw Error("plans disagree, so there is nothing to time", engines.front()->plans().name() + " and " +
                                                                     engine->plans().name() + ", " +
                                                                     std::to_string(ids.size()) + " tokens");
    }
  }
}

void add_flags(CLI::App& app, EngineBenchOptions& options) {
  app.add_option("model", options.model, "GGUF file; default: the one that ./dev run fetched");
  app.add_option("--lengths", options.lengths, "tokens of the prompts, comma separated")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--device", options.devices, "as tandem's --device")->delimiter(',');
  app.add_option("--chunk", options.chunk, "tokens that are computed at once")->check(CLI::Range(1, 1 << 20));
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000));
  app.add_flag("--json", options.json);
}

// An Error of any bench ends it with a message and status 1.
int bench_main(CLI::App& app, int argc, char** argv, const std::function<int()>& run) {
  CLI11_PARSE(app, argc, argv);
  // Standard output has only the result, as in the program itself.
  spdlog::set_default_logger(spdlog::stderr_color_mt("bench"));
  spdlog::set_level(spdlog::level::warn);
  if (const char* levels = std::getenv("TANDEM_LOG")) spdlog::cfg::helpers::load_levels(levels);
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace tandem::bench
