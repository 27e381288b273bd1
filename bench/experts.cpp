// Question: what does hybrimoe gain over the baselines of Y7, if a part of the experts has slots on the GPU?
//
// The bench opens one engine for each plan on one mixture of experts, in one process, and uses the tokens of a text.
// All plans must first give the same bits. Then rounds of all plans alternate, and each round begins with another one.
// Times are medians over rounds. With --ratio, waits in real time slow the host and the link down, until an expert
// takes so many times as long there as on the GPU; a run without throttles measures all three first.
//
// Predictions take what the schedules expected of the experts, and everything else from the measured `moe-fixed`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/run/engine.h"
#include "engine/run/machine/expert_store.h"
#include "sync/error.h"

namespace {

using tandem::Engine;
using tandem::LaneTotals;
namespace bench = tandem::bench;

constexpr const char *kHybrid = "hybrimoe", *kFixed = "moe-fixed", *kOnDemand = "moe-on-demand";
const std::vector<std::string> kPlans = {kHybrid,           "auto",    "moe-schedule",
                                         "moe-layer-split", kFixed,    "moe-fixed-transfer",
                                         kOnDemand,         "moe-lru", "moe-fiddler"};
constexpr int64_t kBeforeText = 32;  // tokens of the prompt in front of a timed text

struct Options {
  std::string model, text, folder = std::filesystem::temp_directory_path().string();
  std::vector<std::string> devices{"opencl:0", "host"}, plans = kPlans;
  std::vector<double> budgets{25, 50, 75};
  std::string phase = "text";
  std::vector<double> ratio;  // host, GPU, link
  std::string calibration;    // for rows whose slots begin with learned experts
  double host_budget = 100;   // percent of each layer's experts in the host's memory
  double disk_gbps = 0;       // 0: reads are not slowed down
  int64_t tokens = 0;         // of the phase
  int rounds = 3;
  bool json = false;

  bool is_text() const { return phase == "text"; }
};

struct Throttle {
  double host_slower = 1, link_gbps = 0;
};

struct Row {
  std::string plan;
  std::vector<double> seconds;  // of a token, by round
  double hits = -1;             // choices in slots; -1: the plan has no lanes
  double expected = -1;         // seconds of a token's experts
  double predicted = -1;
  double useful = 0, late = 0, wasted = 0;  // Y3: bytes of a token that were copied ahead
  double milliseconds() const { return 1e3 * tandem::median(seconds); }
};

// "moe-fixed:learned" begins with the most used experts of a calibration, and "moe-fixed" with the lowest numbers.
bool is_learned(const std::string& row) { return row.ends_with(":learned"); }

// Y3: "hybrimoe:off" copies no experts ahead, and "hybrimoe:on" always does.
tandem::ExpertPrefetching prefetching_of(const std::string& row) {
  if (row.ends_with(":on")) return tandem::ExpertPrefetching::on;
  return row.ends_with(":off") ? tandem::ExpertPrefetching::off : tandem::ExpertPrefetching::automatic;
}

// Rows differ in the plan, and in what the name of the row says about copies ahead. Everything else is equal.
std::unique_ptr<Engine> open(const Options& options, const std::string& row, double budget, const Throttle& throttle) {
  const std::string plan = row.substr(0, row.find(':'));
  tandem::EngineOptions engine;
  engine.expert_prefetch = prefetching_of(row);
  engine.model_path = options.model;
  engine.devices = options.devices;
  engine.plan = plan;
  engine.act = tandem::ActType::f32;
  engine.expert_budget = {tandem::ExpertBudget::Unit::percent, budget};
  engine.expert_copies = true;
  engine.host_budget = {tandem::ExpertBudget::Unit::percent, options.host_budget};
  engine.disk_gbps = options.disk_gbps;
  engine.expert_policy = plan == "moe-lru" ? "lru" : "auto";
  engine.expert_folder = options.folder;
  engine.hot_experts = false;  // the counts of one row would change the next one
  if (is_learned(row)) engine.calibration = options.calibration;
  engine.link_gbps = throttle.link_gbps;
  engine.host_slower = throttle.host_slower;
  engine.context = options.tokens + kBeforeText + 8;
  engine.chunk = engine.logit_rows = std::min<int64_t>(512, engine.context);
  return Engine::open(engine);
}

tandem::LaneDecider& lanes_of(Engine& engine) { return *engine.model().expert_store()->lanes(); }

// Real text, because random tokens would choose experts evenly and no cache could gain.
std::vector<int32_t> tokens_of(const Engine& engine, const Options& options) {
  const int64_t count = options.tokens + kBeforeText;
  std::ifstream file(options.text, std::ios::binary);
  if (!file) throw tandem::Error("cannot read the text", options.text, "Name one with --text");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<int32_t> ids = engine.model().tokenizer().encode(text.substr(0, static_cast<size_t>(16 * count)), {});
  if (static_cast<int64_t>(ids.size()) < count)
    throw tandem::Error("the text is too short", options.text,
                        std::to_string(ids.size()) + " tokens, " + std::to_string(count) + " are needed");
  ids.resize(static_cast<size_t>(count));
  return ids;
}

// Seconds of a token.
double time_phase(const Options& options, Engine& engine, std::span<const int32_t> ids) {
  if (options.is_text()) return bench::time_decode(engine, ids, kBeforeText);
  const std::span<const int32_t> prompt = ids.first(static_cast<size_t>(options.tokens));
  return bench::time_prompt(engine, prompt) / static_cast<double>(options.tokens);
}

const LaneTotals& totals_of(const Options& options, Engine& engine) {
  return options.is_text() ? lanes_of(engine).of_text() : lanes_of(engine).of_prompts();
}

// Measures an expert on each lane by passes without throttles. The host computes with `moe-fixed` and the link
// copies with `moe-on-demand`.
Throttle throttle_for(const Options& options, double budget) {
  if (options.ratio.empty()) return {};
  tandem::ExpertCosts costs;
  double load = 1, bytes = 0;
  for (const char* plan : {kFixed, kOnDemand}) {
    const auto engine = open(options, plan, budget, {});
    const std::vector<int32_t> ids = tokens_of(*engine, options);
    for (int again = 0; again < 3; ++again) time_phase(options, *engine, ids);
    const tandem::ExpertCosts& own = lanes_of(*engine).costs();
    const LaneTotals& totals = totals_of(options, *engine);
    if (std::string(plan) == kFixed) {
      costs.cpu_fixed = own.cpu_fixed, costs.cpu_per_token = own.cpu_per_token;
      load = static_cast<double>(totals.choices) / static_cast<double>(totals.slot_experts + totals.host_experts);
    } else {
      costs.gpu_fixed = own.gpu_fixed, costs.gpu_per_token = own.gpu_per_token;
    }
    bytes = static_cast<double>(engine->model().expert_store()->expert_bytes());
  }
  const double host = costs.cpu_fixed + load * costs.cpu_per_token, gpu = costs.gpu_fixed + load * costs.gpu_per_token;
  return {std::max(1.0, options.ratio[0] / options.ratio[1] * gpu / host),
          bytes / (options.ratio[2] / options.ratio[1] * gpu) / 1e9};
}

// Times all engines in turns, and takes the differences of their counters over the rounds that count. A row's
// prediction starts from the measured row without copies, and replaces its expected time of experts.
std::vector<Row> measure(const Options& options, std::vector<std::unique_ptr<Engine>>& engines,
                         std::span<const int32_t> ids) {
  std::vector<Row> rows;
  for (const std::string& plan : options.plans) rows.push_back({plan, {}});
  std::vector<LaneTotals> before(engines.size());
  bench::take_turns(engines.size(), options.rounds, [&](size_t i, bool counts) {
    const double seconds = time_phase(options, *engines[i], ids);
    if (counts) rows[i].seconds.push_back(seconds);
    if (!counts) before[i] = totals_of(options, *engines[i]);
  });
  const double tokens = static_cast<double>(options.rounds) * static_cast<double>(options.tokens);
  for (size_t i = 0; i < engines.size(); ++i) {
    const LaneTotals& after = totals_of(options, *engines[i]);
    const auto choices = static_cast<double>(after.choices - before[i].choices);
    if (choices == 0) continue;
    rows[i].hits = static_cast<double>(after.in_slots - before[i].in_slots) / choices;
    rows[i].useful = static_cast<double>(after.useful_bytes - before[i].useful_bytes) / tokens;
    rows[i].late = static_cast<double>(after.late_bytes - before[i].late_bytes) / tokens;
    rows[i].wasted = static_cast<double>(after.wasted_bytes - before[i].wasted_bytes) / tokens;
    rows[i].expected = (after.expected_seconds - before[i].expected_seconds) / tokens;
  }
  const auto fixed = std::ranges::find(rows, kFixed, &Row::plan);
  for (Row& row : rows)
    if (fixed != rows.end() && row.expected >= 0)
      row.predicted = tandem::median(fixed->seconds) - fixed->expected + row.expected;
  return rows;
}

// How many times as long `row` takes as hybrimoe: the median of the ratios within a round.
double ratio(const Row& row, const Row& hybrid) {
  std::vector<double> ratios;
  for (size_t r = 0; r < row.seconds.size(); ++r) ratios.push_back(row.seconds[r] / hybrid.seconds[r]);
  return tandem::median(ratios);
}

// The other plans are compared with hybrimoe, which is the first row.
void print_table(const Options& options, double budget, const Throttle& throttle, const std::vector<Row>& rows) {
  std::printf("\n%s, %g %% of the experts in slots, measured; host %.2f times as slow, link %s\n\n",
              options.is_text() ? "text" : "prompts", budget, throttle.host_slower,
              throttle.link_gbps > 0 ? (std::to_string(throttle.link_gbps) + " GB/s").c_str() : "not slowed down");
  std::printf(
      "| plan | ms a token | hybrimoe is faster | choices in slots | predicted ms | ahead, MB a token: useful, late, "
      "wasted |\n");
  std::printf("| --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const Row& row : rows) {
    std::printf("| `%s` | %.3f | %.2f x |", row.plan.c_str(), row.milliseconds(), ratio(row, rows.front()));
    if (row.hits < 0) {
      std::printf(" | | |\n");
      continue;
    }
    std::printf(" %.1f %% | ", 100 * row.hits);
    row.predicted >= 0 ? std::printf("%.3f", 1e3 * row.predicted) : std::printf("needs `%s`", kFixed);
    std::printf(" | %.1f, %.1f, %.1f |\n", row.useful / 1e6, row.late / 1e6, row.wasted / 1e6);
  }
  std::fflush(stdout);
}

nlohmann::json to_json(const Options& options, double budget, const Throttle& throttle, const std::vector<Row>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const Row& row : rows) {
    nlohmann::json each = {{"plan", row.plan},         {"phase", options.phase},
                           {"budget_percent", budget}, {"host_slower", throttle.host_slower},
                           {"clock", "measured"},      {"link_gbps", throttle.link_gbps},
                           {"seconds", row.seconds},   {"hybrimoe_faster", ratio(row, rows.front())}};
    if (row.hits >= 0) each["hit_rate"] = row.hits;
    if (row.predicted >= 0) each["predicted_seconds"] = row.predicted;
    each["ahead_bytes"] = {{"useful", row.useful}, {"late", row.late}, {"wasted", row.wasted}};
    list.push_back(std::move(each));
  }
  return list;
}

// For each budget, engines are opened anew, because the number of slots is fixed when a model is loaded. Bits are
// compared before anything is timed.
int run(Options options) {
  bench::require_model(options.model);
  if (options.tokens == 0) options.tokens = options.is_text() ? 32 : 256;
  if (!options.ratio.empty() && (options.ratio.size() != 3 || std::ranges::min(options.ratio) <= 0))
    throw tandem::Error("the ratio cannot be used", "--ratio", "Three numbers above 0: host, GPU, link");
  if (options.calibration.empty() && std::ranges::any_of(options.plans, is_learned))
    throw tandem::Error("nothing was learned", "PLAN:learned", "Name a calibration or a trace with --calibration");
  std::erase(options.plans, kHybrid);
  options.plans.insert(options.plans.begin(), kHybrid);
  nlohmann::json json = nlohmann::json::array();
  for (const double budget : options.budgets) {
    const Throttle throttle = throttle_for(options, budget);
    std::vector<std::unique_ptr<Engine>> engines;
    for (const std::string& plan : options.plans) engines.push_back(open(options, plan, budget, throttle));
    const std::vector<int32_t> ids = tokens_of(*engines.front(), options);
    bench::verify_equal(engines, std::span(ids).first(kBeforeText));
    const std::vector<Row> rows = measure(options, engines, ids);
    if (options.json)
      for (auto& row : to_json(options, budget, throttle, rows)) json.push_back(std::move(row));
    else
      print_table(options, budget, throttle, rows);
  }
  if (options.json)
    std::printf("%s\n", nlohmann::json{{"schema", 1},
                                       {"bench", "experts"},
                                       {"model", std::filesystem::path(options.model).filename().string()},
                                       {"rounds", options.rounds},
                                       {"tokens", options.tokens},
                                       {"rows", json}}
                            .dump(1)
                            .c_str());
  return 0;
}

}  // namespace

// Flags say what the table is about: the phase, the budgets, and how much the host and the link are slowed down.
int main(int argc, char** argv) {
  Options options;
  CLI::App app("experts: hybrimoe and its baselines (Y7) on a mixture of experts, measured");
  app.add_option("model", options.model, "GGUF file of a mixture of experts")->required();
  app.add_option("--text", options.text, "a text with the tokens of the prompt, or of the text")->required();
  app.add_option("--phase", options.phase, "what is timed: text (single tokens) or prompt")
      ->check(CLI::IsMember({"text", "prompt"}))
      ->capture_default_str();
  app.add_option("--tokens", options.tokens, "so many of them; default: 32 of a text, 256 of a prompt")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--budgets", options.budgets, "percent of each layer's experts with slots")
      ->delimiter(',')
      ->check(CLI::Range(0.1, 100.0));
  app.add_option(
         "--host-budget", options.host_budget,
         "percent of each layer's experts in the host's memory; others are read from the packed file. Below 100 "
         "there is no moe-layer-split")
      ->check(CLI::Range(0.1, 100.0));
  app.add_option("--disk-gbps", options.disk_gbps, "slows reads from the packed file down")->check(CLI::PositiveNumber);
  app.add_option("--ratio", options.ratio,
                 "slows host and link down: times of an expert on host, GPU and link, as 4,1,1")
      ->delimiter(',');
  app.add_option("--plans", options.plans,
                 "beside hybrimoe; default: all of Y7. PLAN:off copies no experts ahead (Y3), and PLAN:on always does. "
                 "PLAN:learned begins with the experts that --calibration counts most")
      ->delimiter(',');
  app.add_option("--calibration", options.calibration, "a file of calibrate-moe, or a trace (.jsonl), of another text");
  app.add_option("--device", options.devices, "as tandem's --device")->delimiter(',');
  app.add_option("--folder", options.folder, "for packed experts; default: that of temporary files");
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000));
  app.add_flag("--json", options.json);
  return bench::bench_main(app, argc, argv, [&] {
    if (options.host_budget < 100) std::erase(options.plans, "moe-layer-split");
    return run(options);
  });
}
