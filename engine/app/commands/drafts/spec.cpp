// `tandem spec`: single parts of speculative decoding on cases from a file, without a model. Tests and papers' examples
// use it.
#include "engine/app/commands/drafts/spec.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/app/commands/drafts/case_reader.h"
#include "engine/app/file_flags.h"
#include "engine/app/report.h"
#include "engine/draft/drafting.h"
#include "engine/draft/pass_size.h"
#include "engine/draft/reuse.h"
#include "engine/draft/token_tree.h"
#include "engine/plan/graph_switch.h"

namespace tandem::app {
namespace {

using nlohmann::json;

// Limits of a case, so that each takes seconds at most.
constexpr int64_t kMostMax = 1 << 16;      // tokens of a draft
constexpr int64_t kMostChained = 1 << 12;  // tokens of a draft whose rejection is judged
constexpr int64_t kMostCandidates = 1 << 12;
constexpr int64_t kMostChunks = 1 << 10, kMostBlocks = 1 << 9;  // of a schedule

// Places that there are not stand as null in answers.
json or_null(int64_t value) { return value < 0 ? json() : json(value); }

// Places of a chain count from 1 in cases, as in the paper.
json run_json(const DraftRun& run) {
  if (run.length == 0) return {};
  return {{"begin", run.begin + 1}, {"length", run.length}};
}

// S5 over several steps: which runs are alive in each, by the step in which they were found.
json living_runs(CaseReader& reader) {
  ReusedRuns runs(reader.whole("limit", 0, kMostMax));
  json alive = json::array();
  for (CaseReader& step : reader.objects("steps")) {
    runs.begin_step(step.count("drafts", kMostMax));
    json found = json::array();
    for (const ReusedRuns::Run& run : runs.runs()) found.push_back(run.found);
    alive.push_back(std::move(found));
    runs.add(std::vector<int32_t>(static_cast<size_t>(step.count("run", kMostMax))));
    step.require_all_read();
  }
  return {{"alive", std::move(alive)}};
}

// A table of the command's four parts.
struct Part {
  const char* name;
  const char* explains;
  json (*result)(CaseReader&);
};
constexpr Part kParts[] = {
    {"draft", "S3, S7: what follows where the text's end stood before", draft_result},
    {"merge", "M1 to M5: candidates as one tree, how much of it a pass should run, and what is accepted", merge_result},
    {"reuse", "S5: what a rejected draft still has, and how long it is offered", reuse_result},
    {"schedule", "S1: when the decode graph of each block is loaded", schedule_result},
};

}  // namespace

// Shows one draft by one of the rules: where the match lies, how long it is, and what follows it (D1 to D4).
json draft_result(CaseReader& reader) {
  const std::string name = reader.word("rule");
  const std::optional<DraftRule> rule = draft_rule_of(name);
  if (!rule) reader.fail("rule", "sdnpu, pld or sam");
  SuffixAutomaton context;
  for (const int32_t id : reader.ids("context")) context.append(id);
  DraftHistory history;
  if (reader.has("history"))
    for (const std::vector<int32_t>& record : reader.id_lists("history")) history.add(record);
  const int64_t max = reader.whole_or("max", 0, kMostMax, most_tokens(*rule));
  const int64_t match_min = reader.whole_or("match_min", 0, kMostMax, 1);
  const std::vector<int32_t> ends = reader.has("end_ids") ? reader.ids("end_ids") : std::vector<int32_t>();
  HistoryMatcher matcher(history);
  const Draft draft = draft_by(*rule, context, matcher, history, max, match_min,
                               [&](int32_t token) { return std::ranges::find(ends, token) != ends.end(); });
  return {{"source", to_string(draft.match.source)},
          {"match", draft.match.length},
          {"record", or_null(draft.match.record)},
          {"end", or_null(draft.match.end)},
          {"draft", draft.tokens}};
}

// Shows one merge of candidates: the tree, which nodes each node sees, how many would run (M4), and with `choices` also
// the path that is accepted (M5).
json merge_result(CaseReader& reader) {
  std::vector<DraftCandidate> candidates;
  for (CaseReader& each : reader.objects("candidates")) {
    DraftCandidate candidate{each.ids("tokens"), each.numbers("p", 0, 1)};
    if (candidate.tokens.size() != candidate.probabilities.size())
      each.fail("p", std::to_string(candidate.tokens.size()) + " numbers, one for each of the tokens");
    each.require_all_read();
    candidates.push_back(std::move(candidate));
  }
  if (std::ssize(candidates) > kMostCandidates)
    reader.fail("candidates", "at most " + std::to_string(kMostCandidates) + " candidates");
  const int64_t cap = reader.whole("cap", 0, kMostNodes);
  const TokenTree tree = merged(candidates, cap);
  const std::vector<double> seconds = reader.numbers("pass_us", 1e-9, 1e15);
  if (std::ssize(seconds) != cap + 1)
    reader.fail("pass_us",
                std::to_string(cap + 1) + " times, of passes of 1 to " + std::to_string(cap + 1) + " tokens");
  const int64_t run = best_draft_count(tree.weights, seconds);
  json mask = json::array();
  const std::vector<uint8_t> sees = mask_of(tree.parents);
  for (auto row = sees.begin(); row != sees.end(); row += tree.nodes())
    mask.push_back(std::vector<uint8_t>(row, row + tree.nodes()));
  json result = {{"ids", tree.ids},         {"parents", tree.parents}, {"positions", tree.positions},
                 {"weights", tree.weights}, {"mask", std::move(mask)}, {"run", run}};
  if (!reader.has("choices")) return result;
  const std::vector<int32_t> choices = reader.ids("choices");
  if (std::ssize(choices) < run + 1)
    reader.fail("choices",
                "at least " + std::to_string(run + 1) + " ids: behind the newest token, then behind each node");
  int32_t next = 0;
  result["path"] = accepted_path(
      std::span(tree.ids).first(static_cast<size_t>(run)), tree.parents,
      [&](int32_t node) { return choices[static_cast<size_t>(node + 1)]; }, next);
  result["next"] = next;
  return result;
}

// Shows one verdict on a chain, and with a text also why it was rejected (Table 2). With steps it shows which runs
// are offered again.
json reuse_result(CaseReader& reader) {
  if (reader.has("steps")) return living_runs(reader);
  const std::vector<int32_t> draft = reader.ids("draft"), predicted = reader.ids("predicted");
  if (std::ssize(draft) > kMostChained) reader.fail("draft", "at most " + std::to_string(kMostChained) + " ids");
  if (predicted.size() != draft.size() + 1)
    reader.fail("predicted", std::to_string(draft.size() + 1) + " ids, one more than the draft has");
  const ChainVerdict verdict = judge_chain(draft, predicted);
  const auto kept = draft.begin() + verdict.run.begin;
  json result = {{"accepted", verdict.accepted},
                 {"next", verdict.next},
                 {"run", run_json(verdict.run)},
                 {"kept", std::vector<int32_t>(kept, kept + verdict.run.length)}};
  if (!reader.has("expected_text")) return result;
  const RejectionCause cause = rejection_cause(draft, reader.ids("expected_text"), verdict.accepted);
  result["class"] = to_string(cause.rejection);
  result["segment"] = run_json(cause.segment);
  if (cause.segment.length > 0) result["segment"]["inserted"] = cause.inserted;
  return result;
}

// Shows one schedule of graph loads (P1 to P6). Blocks and chunks count from 1 in the answer, and from 0 inside.
json schedule_result(CaseReader& reader) {
  GraphSwitchTimes times;
  times.chunks = reader.whole("chunks", 1, kMostChunks);
  times.prefill = reader.wholes("prefill", 0);
  if (times.prefill.empty() || times.blocks() > kMostBlocks)
    reader.fail("prefill", "a time of each block, of at most " + std::to_string(kMostBlocks));
  for (auto [key, list] : {std::pair{"decode", &times.decode}, std::pair{"load", &times.load}}) {
    *list = reader.wholes(key, 0);
    if (list->size() != times.prefill.size())
      reader.fail(key, std::to_string(times.prefill.size()) + " times, one for each block");
  }
  const SwitchSchedule schedule = progressive_schedule(times);
  json rounds = json::array();
  for (const SwitchRound& round : schedule.rounds)
    rounds.push_back({{"chunk", round.chunk + 1},
                      {"block", round.block + 1},
                      {"k", round.executions},
                      {"load", times.load[static_cast<size_t>(round.block)]}});
  return {{"start", schedule.first_chunk + 1},
          {"rounds", std::move(rounds)},
          {"switched", schedule.switched},
          {"prefill_end", schedule.prefill_end},
          {"switch_end", schedule.switch_end},
          {"end", schedule.end()},
          {"synchronous_end", synchronous_end(times)},
          {"asynchronous_end", asynchronous_end(times)},
          {"best", to_string(best_way(times, schedule))}};
}

// Without --json each result is a line of its own.
void add_spec(CLI::App& app, Action& action) {
  app.require_subcommand(1);
  for (const Part& part : kParts) {
    CLI::App& command = *app.add_subcommand(part.name, part.explains);
    auto path = std::make_shared<std::string>();
    auto as_json = std::make_shared<bool>(false);
    reads_file(command.add_option("--cases", *path, R"(cases: a file {"cases": [...]}; -: standard input)"))
        ->required()
        ->type_name("FILE");
    command.add_flag("--json", *as_json, R"(print one JSON object: {"results": [...]}, in the order of the cases)");
    command.callback([&action, &part, path, as_json] {
      action = [&part, path, as_json] {
        const json results = results_of(read_cases(*path), *path, part.result);
        if (*as_json) {
          print_json(results);
        } else {
          for (const json& result : results["results"]) print_json(result);
        }
        return kDone;
      };
    });
  }
}

}  // namespace tandem::app
