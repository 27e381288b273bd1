// Question: how much longer do a user's passes take than with the best plan for each length, which is
// unknown beforehand?
//
//   regret [-m MODEL]... [--large] [--passes N] [--seed N] [--neighbour] [--json]
//
// A player is an engine with plan `auto` and no measurements. It plays passes of random lengths and depths; its time
// includes choosing and preparing plans. Beside each pass the engines of all named plans run the same pass several
// times, with learnt rates.
// Hindsight is the plan with the least sum over all passes of a length. The sum adds up the time to prepare the plan
// and the median of its runs. Hindsight is charged the mean of its runs, because a player's single run meets hiccups as
// often; a median of three leaves them out. A column of its own charges medians.
// Among equally fast plans hindsight takes the one whose runs happened to be quick, which is luck. Another column
// charges each run to the plan that is the best by the other runs.
// A user who names a plan must prepare it too, so the ratio says what choosing costs. A third column compares with
// plans that were all prepared beforehand. There are as many players as repetitions, each with its own file of
// measurements; the ratio is their median.
// Before a model is timed, all plans' logits are compared with the host's own loops. Later a tenth of the players'
// logits are compared with a plan's. Compiled programs come from the user's cache, unless --empty-programs.
//
// --neighbour: on every core another process computes for one second of three.
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "bench/engines.h"
#include "bench/regret/figures.h"
#include "bench/regret/neighbour.h"
#include "bench/regret/passes.h"
#include "bench/regret/play.h"
#include "engine/model/random_model.h"
#include "engine/model/shapes.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/plan/strategy.h"
#include "sync/affinity.h"
#include "sync/error.h"
#include "sync/whole_file.h"

namespace {

namespace bench = tandem::bench;
using bench::Regret;
using nlohmann::json;

// The targets of all passes and of the first twenty, which a user meets before anything is learnt.
constexpr double kTarget = 1.05, kFirstTarget = 1.15;
constexpr size_t kFirst = 20, kWorst = 10;
constexpr const char* kLargeShape = "llama-3.2-1b";

// Hindsight may take the plans that `auto` may take.
std::vector<std::string> plans_of_auto() {
  std::vector<std::string> plans;
  for (const tandem::Strategy& strategy : tandem::strategies_for_any_model())
    if (strategy.tried_by_auto) plans.emplace_back(strategy.name);
  return plans;
}

struct Options {
  std::vector<std::string> models, devices;
  std::vector<std::string> plans = plans_of_auto();
  bench::PassRequest passes;
  int repetitions = 3;
  bool fast = false;
  bool large = false, neighbour = false, empty_programs = false, json = false;
};

// Files of players and of random models, which go with the bench.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tandem_regret_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw tandem::Error("cannot make a folder", name, "Name another by TMPDIR");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A model of random weights is as fast as a real one of its shape.
std::string random_model(const ScratchFolder& scratch) {
  const std::string path = scratch.file(std::string(kLargeShape) + "-random.Q4_0.gguf");
  std::fprintf(stderr, "writing %s with random weights\n", kLargeShape);
  const tandem::RandomModel model(tandem::model_shape(kLargeShape), tandem::storage_type_named("Q4_0"), 1);
  tandem::WholeFile file(path);
  model.write([&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
  return path;
}

struct ModelReport {
  std::string name;
  bench::Game game;
  std::vector<Regret> all, first;                  // by player
  std::vector<Regret> all_medians, first_medians;  // the same, but medians are charged
  std::vector<Regret> all_held_out, first_held_out;
  size_t median_player = 0;  // the player whose ratio is the median
};

// Ratios to the best plan in hindsight: 1 is perfect.
std::vector<double> ratios(const std::vector<Regret>& regrets) {
  std::vector<double> list;
  for (const Regret& one : regrets) list.push_back(one.ratio());
  return list;
}

// Plays one model and sums up each player's regret three times: by means, by medians, and with each run charged to the
// plan that the other runs call best.
ModelReport measure(const Options& options, const std::string& model, const std::string& scratch) {
  bench::PlayOptions play_options;
  play_options.model = model;
  play_options.devices = options.devices;
  play_options.plans = options.plans;
  play_options.passes = options.passes;
  play_options.repetitions = options.repetitions;
  play_options.act = options.fast ? tandem::ActType::i8 : tandem::ActType::f16;
  play_options.empty_programs = options.empty_programs;
  play_options.scratch = scratch;
  ModelReport report;
  report.name = std::filesystem::path(model).filename();
  report.game = bench::play(play_options, [&](size_t done) {
    if (done % 50 == 0) std::fprintf(stderr, "%s: %zu passes\n", report.name.c_str(), done);
  });
  const bench::Game& game = report.game;
  for (const auto& played : game.played) {
    const auto of = [&](size_t count, bench::Charged charged) {
      return regret_of(game.passes, played, game.hindsight, count, charged);
    };
    report.all.push_back(of(game.passes.size(), bench::Charged::mean));
    report.first.push_back(of(kFirst, bench::Charged::mean));
    report.all_medians.push_back(of(game.passes.size(), bench::Charged::median));
    report.first_medians.push_back(of(kFirst, bench::Charged::median));
    report.all_held_out.push_back(of(game.passes.size(), bench::Charged::held_out));
    report.first_held_out.push_back(of(kFirst, bench::Charged::held_out));
  }
  const auto list = ratios(report.all);
  report.median_player = static_cast<size_t>(std::ranges::find(list, tandem::median(list)) - list.begin());
  return report;
}

const char* met(double value, double target) { return value <= target ? "met" : "missed"; }

// A line of the table: the player with the median ratio stands for its seconds, and the ratio has its
// range over players.
void print_row(const char* what, const ModelReport& report, const std::vector<Regret>& regrets,
               const std::vector<Regret>& by_medians, const std::vector<Regret>& by_other_runs, double target) {
  const auto list = ratios(regrets);
  const double ratio = tandem::median(list);
  const Regret& one = regrets[report.median_player];
  std::printf(
      "| %s | %s | %.3f | %.3f | %.3f [%.3f, %.3f] | ≤ %.2f | %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.0f %% | %.0f "
      "%% |\n",
      report.name.c_str(), what, one.played_seconds, one.best_seconds, ratio, std::ranges::min(list),
      std::ranges::max(list), target, met(ratio, target), one.ready_seconds, one.ratio_of_choices(),
      tandem::median(ratios(by_medians)), tandem::median(ratios(by_other_runs)), one.ratio_to_prepared(),
      100.0 * static_cast<double>(one.best) / static_cast<double>(one.passes),
      100.0 * static_cast<double>(one.within_5_percent) / static_cast<double>(one.passes));
}

// The passes with the largest loss show where choosing goes wrong: the plan that was taken, the best one for the
// length, and the best one for the very pass.
void print_worst(const ModelReport& report) {
  const bench::Game& game = report.game;
  const auto& played = game.played[report.median_player];
  const auto by_length = best_by_length(game.passes, game.hindsight);
  std::printf("\n%s: the passes that lost most\n\n", report.name.c_str());
  std::printf(
      "| pass | tokens | depth | plan | ms | of it to get ready | the same plan later, ms | best for the length "
      "| ms | best for the pass | ms |\n");
  std::printf("| ---: | ---: | ---: | --- | ---: | ---: | ---: | --- | ---: | --- | ---: |\n");
  for (const size_t i : worst_passes(game.passes, played, game.hindsight, kWorst)) {
    const auto& samples = game.hindsight[i];
    const std::string& best = by_length.at(game.passes[i].tokens);
    const bench::BestPlan best_here = bench::best_of_pass(samples);
    const auto same = samples.find(played[i].plan);
    const std::string later =
        same == samples.end() ? "–" : std::to_string(1e3 * tandem::median(same->second.run_seconds)).substr(0, 7);
    std::printf("| %zu | %lld | %lld | %s | %.3f | %.3f | %s | %s | %.3f | %s | %.3f |\n", i + 1,
                static_cast<long long>(game.passes[i].tokens), static_cast<long long>(game.passes[i].depth),
                played[i].plan.c_str(), 1e3 * played[i].seconds(), 1e3 * played[i].ready_seconds, later.c_str(),
                best.c_str(), 1e3 * tandem::median(samples.at(best).run_seconds), best_here.plan.c_str(),
                1e3 * best_here.seconds);
  }
}

// The table of all models, then each one's worst passes, then what was left out.
void print(const Options& options, const std::vector<ModelReport>& reports) {
  std::printf(
      "%lld passes, seed %llu, a context of %lld, %d players and as many repetitions of each plan%s; measured (wall "
      "clock)%s\n\n",
      static_cast<long long>(options.passes.count), static_cast<unsigned long long>(options.passes.seed),
      static_cast<long long>(options.passes.context), options.repetitions,
      options.fast ? ", activations of 8 bits" : "",
      options.neighbour ? "; beside processes that compute on every core for one second of three" : "");
  std::printf(
      "| model | passes | auto, s | best plans, s | ratio | target | | of auto: to get ready, s | plans taken, "
      "later / best | ratio by medians | by other runs | auto / best, prepared | took the best | within 5 %% |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const ModelReport& report : reports) {
    print_row("all", report, report.all, report.all_medians, report.all_held_out, kTarget);
    print_row("first 20", report, report.first, report.first_medians, report.first_held_out, kFirstTarget);
  }
  for (const ModelReport& report : reports) print_worst(report);
  std::printf("\n");
  for (const ModelReport& report : reports) {
    for (const std::string& note : report.game.notes) std::printf("- %s: %s\n", report.name.c_str(), note.c_str());
    std::printf("- %s: %lld passes verified%s\n", report.name.c_str(), static_cast<long long>(report.game.verified),
                report.game.contended ? "; other programs had the cores while it was measured" : "");
  }
}

json to_json(const Regret& one) {
  return {{"ratio", one.ratio()},
          {"seconds", one.played_seconds},
          {"ready_seconds", one.ready_seconds},
          {"best_seconds", one.best_seconds},
          {"best_of_each_seconds", one.best_of_each_seconds},
          {"taken_seconds", one.taken_seconds},
          {"ratio_to_best_of_each", one.ratio_to_best_of_each()},
          {"prepared_seconds", one.prepared_seconds},
          {"passes", one.passes},
          {"best", one.best},
          {"within_5_percent", one.within_5_percent}};
}

// The document has every single time, so that other figures can be computed from a finished run.
json to_json(const ModelReport& report) {
  const bench::Game& game = report.game;
  json passes = json::array(), players = json::array();
  for (size_t i = 0; i < game.passes.size(); ++i) {
    json played = json::array();
    for (const auto& player : game.played)
      played.push_back({{"plan", player[i].plan},
                        {"ready_seconds", player[i].ready_seconds},
                        {"run_seconds", player[i].run_seconds}});
    json hindsight = json::object();
    for (const auto& [plan, times] : game.hindsight[i])
      hindsight[plan] = {{"ready_seconds", times.ready_seconds}, {"run_seconds", times.run_seconds}};
    passes.push_back({{"tokens", game.passes[i].tokens},
                      {"depth", game.passes[i].depth},
                      {"played", played},
                      {"hindsight", hindsight}});
  }
  for (size_t p = 0; p < report.all.size(); ++p)
    players.push_back({{"all", to_json(report.all[p])}, {"first_20", to_json(report.first[p])}});
  const double all = tandem::median(ratios(report.all)), first = tandem::median(ratios(report.first));
  return {{"model", report.name},
          {"ratio", all},
          {"ratio_of_first_20", first},
          {"met", all <= kTarget},
          {"players", players},
          {"met_by_first_20", first <= kFirstTarget},
          {"ratio_by_medians", tandem::median(ratios(report.all_medians))},
          {"ratio_of_first_20_by_medians", tandem::median(ratios(report.first_medians))},
          {"ratio_by_other_runs", tandem::median(ratios(report.all_held_out))},
          {"ratio_of_first_20_by_other_runs", tandem::median(ratios(report.first_held_out))},
          {"notes", game.notes},
          {"contended", game.contended},
          {"verified", game.verified},
          {"passes", passes}};
}

// Returns status 1 if a target is missed, as bench/peers does.
int report(const Options& options, const std::vector<ModelReport>& reports) {
  if (options.json) {
    json models = json::array();
    for (const ModelReport& one : reports) models.push_back(to_json(one));
    std::printf("%s\n", json({{"schema", 1},
                              {"bench", "regret"},
                              {"clock", "measured"},
                              {"act", options.fast ? "i8" : "f16"},
                              {"neighbour", options.neighbour},
                              {"empty_programs", options.empty_programs},
                              {"seed", options.passes.seed},
                              {"target", kTarget},
                              {"target_of_first_20", kFirstTarget},
                              {"models", models}})
                            .dump(1)
                            .c_str());
  } else {
    print(options, reports);
  }
  return std::ranges::all_of(reports,
                             [](const ModelReport& one) {
                               return tandem::median(ratios(one.all)) <= kTarget &&
                                      tandem::median(ratios(one.first)) <= kFirstTarget;
                             })
             ? 0
             : 1;
}

// Models are played one after another, each with its own folder of measurements.
int run(Options options) {
  // The neighbour forks, so it must start before this process has threads.
  std::optional<bench::Neighbour> neighbour;
  if (options.neighbour) neighbour.emplace(static_cast<int>(tandem::usable_cores().size()), bench::ComesAndGoes{});
  const ScratchFolder scratch;
  if (options.models.empty()) {
    options.models = {bench::default_model(), TANDEM_TINY_MODEL};
    if (options.large) options.models.push_back(random_model(scratch));
  }
  for (const std::string& model : options.models) bench::require_model(model);
  std::vector<ModelReport> reports;
  for (const std::string& model : options.models)
    reports.push_back(measure(options, model, scratch.file("model" + std::to_string(reports.size()))));
  return report(options, reports);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("regret: passes of random lengths and depths by plan auto, beside the best plans known in hindsight");
  app.add_option("-m,--model", options.models,
                 "GGUF file, may be given several times; default: the one that ./dev run fetched and a tiny one");
  app.add_flag("--large", options.large, "also a model of one billion random Q4_0 weights, where no model is given");
  app.add_option("--device", options.devices, "as tandem's --device")->delimiter(',');
  app.add_option("--plans", options.plans, "that hindsight may take, comma separated")->delimiter(',');
  app.add_option("--passes", options.passes.count)->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--context", options.passes.context)->check(CLI::Range(16, 1 << 20))->capture_default_str();
  app.add_option("--seed", options.passes.seed)->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "of each plan, and players")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_flag("--fast", options.fast, "activations of 8 bits, as tandem's --fast");
  app.add_flag("--neighbour", options.neighbour, "other processes compute on every core for one second of three");
  app.add_flag("--empty-programs", options.empty_programs, "players find no compiled programs either");
  app.add_flag("--json", options.json);
  return bench::bench_main(app, argc, argv, [&] { return run(options); });
}
