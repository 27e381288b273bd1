// Recorded routing: which experts each token of each layer went to, as a file of lines (N1).
//
// Contract: the first line is an object of type "meta" with `model`, `experts` (E), `top_k` (k), `moe_layers` (their
// numbers), `sequences` and `tokens_per_sequence`; every other line is a token: `seq`, `pos`, and for each layer of
// moe_layers k ids in `experts` and, where they are known, their weights in `weights`. Other keys are left alone. A
// wrong line is an Error that names it. This is the form in which the FLAME-MoE traces are kept.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "engine/moe/routing_counts.h"

namespace tandem {

struct TracedToken {
  int64_t sequence = 0, position = 0;
  std::vector<std::vector<int32_t>> experts;  // [layers][k]
  std::vector<std::vector<float>> weights;    // as `experts`, or empty
  bool operator==(const TracedToken&) const = default;
};

struct RoutingTrace {
  std::string model;
  int64_t experts = 0, used = 0;  // E, k
  std::vector<int64_t> layers;
  std::vector<TracedToken> tokens;
};

RoutingTrace read_routing_trace(const std::string& path);
RoutingTrace parse_routing_trace(std::istream& lines, const std::string& source);  // source: what errors name
void write_routing_trace(const RoutingTrace& trace, std::ostream& lines);

std::vector<RoutingCounts> counts_by_sequence(const RoutingTrace& trace);  // in the order in which they begin

}  // namespace tandem
