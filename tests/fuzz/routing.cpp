// Files that describe the use of experts: the JSON of a calibration, and the lines of a recorded routing. Accepted
// content must stay the same when it is written and read again, and plans must accept it.
#include <cmath>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>

#include "engine/moe/cache_replay.h"
#include "engine/moe/calibration.h"
#include "engine/moe/expert_placement.h"
#include "engine/moe/hot_experts.h"
#include "engine/moe/recorded_routing.h"
#include "engine/moe/routing_trace.h"
#include "sync/error.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

std::string_view routing_text(Bytes input) { return {reinterpret_cast<const char*>(input.data()), input.size()}; }

int64_t choices_in(const ExpertCounts& counts) { return std::reduce(counts.begin(), counts.end()); }

void plan_with(const RoutingCounts& counts) {
  constexpr int64_t kChunk = 64, kExpertBytes = 1000;
  ExpertRules rules;
  rules.residency = ResidencyRule::all;
  for (const ExpertCounts& layer : counts.counts) {
    const std::vector<double> loads = expected_loads(layer, counts.used, kChunk);
    for (const double load : loads)
      must_hold(load >= 0 && load <= kChunk, "an expert's tokens are some of the chunk's");
    const ExpertPlacement placement = place_experts(loads, counts.used, kChunk, kExpertBytes, rules, {});
    must_hold(placement.slots() <= most_slots(counts.experts, counts.used, kChunk, rules), "buffers hold all rows");
    must_hold(std::isfinite(imbalance(layer)), "an imbalance is a number");
  }
}

RoutingTrace read_trace(const std::string& text) {
  std::istringstream lines(text);
  return parse_routing_trace(lines, "fuzzed.jsonl");
}

// The counts that lie beside a packed file have another form.
void hot_experts(std::string_view text) {
  try {
    const HotExperts read = parse_hot_experts(text, "fuzzed.hot");
    must_hold(parse_hot_experts(hot_experts_json(read), "written.hot") == read, "written counts read the same");
    must_hold(of_one_model(uses_behind(read, read), read), "counts of later runs are of one model");
  } catch (const Error&) {
    return;
  }
}

}  // namespace

void calibration(Bytes input) {
  hot_experts(routing_text(input));
  Calibration read;
  try {
    read = parse_calibration(routing_text(input), "fuzzed.json");
  } catch (const Error&) {
    return;
  }
  must_hold(parse_calibration(calibration_json(read), "written.json") == read, "a written calibration reads the same");
  plan_with(read.counts);
}

void routing_trace(Bytes input) {
  RoutingTrace read;
  try {
    read = read_trace(std::string(routing_text(input)));
  } catch (const Error&) {
    return;
  }
  std::ostringstream written;
  write_routing_trace(read, written);
  const RoutingTrace again = read_trace(written.str());
  must_hold(again.model == read.model && again.experts == read.experts && again.used == read.used &&
                again.layers == read.layers && again.tokens == read.tokens,
            "a written trace reads the same");
  size_t tokens = 0;
  for (const RoutingCounts& counts : counts_by_sequence(read)) {
    tokens += static_cast<size_t>(counts.tokens);
    for (const ExpertCounts& layer : counts.counts)
      must_hold(choices_in(layer) == counts.tokens * counts.used,
                "a token goes to as many experts as there are choices");
  }
  must_hold(tokens == read.tokens.size(), "every token is one of a sequence");
}

// Hits of a cache are some of its requests, and no policy beats the bound.
void recorded_routing(Bytes input) {
  RecordedRouting read;
  try {
    std::istringstream lines{std::string(routing_text(input))};
    read = read_recorded_routing(lines, "fuzzed", {0, 2});
  } catch (const Error&) {
    return;
  }
  std::ostringstream written;
  write_routing_trace(read.trace, written);
  must_hold(read_trace(written.str()).tokens == read.trace.tokens, "a written trace reads the same");
  std::vector<LayerRequests> layers;
  for (size_t l = 0; l < read.trace.layers.size(); ++l) layers.push_back(requests_of(read.trace, l));
  for (const PolicyKind& kind : expert_policies()) {
    const ReplayRow row = replay_cache(layers, kind, 50, {});
    must_hold(row.hits >= 0 && row.hits <= row.requests, "hits are some of the requests");
    const ReplayRow bound = replay_cache(layers, *expert_policy("bypass"), 50, {});
    must_hold(kind.insertion == Insertion::fixed || row.hits <= bound.hits, "no policy hits more than the bound");
  }
}

}  // namespace tandem::fuzz
