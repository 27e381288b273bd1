// `tandem replay-moe`: what caches of experts would have hit on recorded routing, by policy and budget (Y4, Y6;
// docs/hybrimoe.md). No model and no device are needed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/app/command.h"
#include "engine/moe/cache_replay.h"
#include "engine/moe/recorded_routing.h"

namespace tandem::app {

struct ReplayMoeFlags {
  std::string trace;                  // a file, or "-"
  std::vector<std::string> policies;  // names; empty: all
  std::vector<double> budgets{25, 50, 75};
  std::vector<std::string> lookups;  // empty: together in JSON, both in text
  ReplaySettings settings;
  std::string top = "2k";  // a number, or a multiple of k
  RoutingHints hints;
  std::string html;                     // a page; "": none
  std::string shape, weights = "Q4_0";  // of the model, for cards
  std::vector<std::string> cards;
  std::string costs;  // of the page's schedules; "": those of HybriMoE's authors
  bool json = false;
};

void add_replay_moe(CLI::App& app, Action& action);

// Recorded routing of a file, and its layers as caches see them.
struct ReplayTrace {
  std::string path;
  RecordedRouting routing;
  std::vector<LayerRequests> layers;
};
ReplayTrace read_replay_trace(const std::string& path, const RoutingHints& hints);

nlohmann::json to_json(const ReplayRow& row);
// How far MRS is ahead of LRU for each budget and lookup, in points, in sentences. Empty without both policies.
std::vector<std::string> mrs_lead(const std::vector<ReplayRow>& rows);

}  // namespace tandem::app
