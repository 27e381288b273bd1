// Recorded routing: the experts of each token in each layer, as a file of lines (N1).
//
// Contract: the first line is an object of type "meta". It has `model`, `experts` (E), `top_k` (k), `moe_layers` (their
// numbers), `sequences` and `tokens_per_sequence`. Every other line is a token: `seq`, `pos`, and `experts` with k ids
// for each layer of moe_layers. `weights` has their weights, if they are known, and `scores` the scores of all E
// experts. Other keys are ignored. A wrong line is an Error that names it. The FLAME-MoE traces have this form.
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
  std::vector<std::vector<float>> weights;    // in the form of `experts`, or empty
  std::vector<std::vector<float>> scores{};   // [layers][E], the softmax over all experts, or empty
  bool operator==(const TracedToken&) const = default;
};

struct RoutingTrace {
  std::string model;
  int64_t experts = 0, used = 0;  // E, k
  std::vector<int64_t> layers;
  std::vector<TracedToken> tokens;
};

RoutingTrace read_routing_trace(const std::string& path);
RoutingTrace parse_routing_trace(std::istream& lines, const std::string& source);  // source: the name in errors
// The meta line, with its end. shape: E, k and the layers.
std::string trace_head(const std::string& model, const RoutingCounts& shape, int64_t sequences, int64_t longest);
void write_routing_trace(const RoutingTrace& trace, std::ostream& lines);

std::vector<RoutingCounts> counts_by_sequence(const RoutingTrace& trace);  // in the order of their first tokens

}  // namespace tandem
