// Random routing with the statistics of a real model's, for settings without recorded routing. It models how popular a
// layer's experts are, and how much that differs between pieces of text (N1).
//
// Contract: pure functions. The same options give the same counts on every machine, because the numbers are drawn here,
// not by the standard library's distributions. A layer's experts have popularities exp(popularity_sigma * z), z normal.
// In a chunk each is multiplied by exp(chunk_sigma * z'). Each token chooses k different experts, one after the other,
// with probabilities in these proportions.
// Source: the model is ours. It is fitted to two numbers of NPUMoE (arXiv:2604.18788): 14.66 % dropped (Table 3, BoolQ)
// and 86 % Overlap@4 on unseen inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/moe/expert_placement.h"
#include "engine/moe/routing_counts.h"

namespace tandem {

struct RoutingModel {
  double popularity_sigma = 0.9, chunk_sigma = 0.15;
  uint64_t seed = 1;
};

// [chunks]: the choices of `chunks` chunks of B tokens in every layer; E experts, k of a token.
std::vector<RoutingCounts> drawn_chunks(const RoutingModel& model, int64_t E, int64_t k, int64_t layers, int64_t B,
                                        int64_t chunks);

// How other chunks use capacities that were planned on some chunks.
struct RoomUse {
  double dropped = 0;  // choices beyond their expert's capacity, of all choices: 0 to 1
  double padded = 0;   // rows without a token, of all rows
  double slots_per_choice = 0;
};
// All groups are resident. chunks: of one size, at least one. expert_bytes: for the limit of a graph.
RoomUse room_use(const RoutingCounts& planned_on, const std::vector<RoutingCounts>& chunks, int64_t expert_bytes,
                 ExpertRules rules);

}  // namespace tandem
