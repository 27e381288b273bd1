// Experts that move: what operators and weights have to know about a store of experts.
//
// Experts that do not fit the memory lie in a file. A layer has slots, each with room for one expert. The store reads
// missing experts into slots while a pass runs (engine/run/machine/expert_store.h).
//
// A pass may choose more experts than there are slots. It takes them in waves, each with products of its own. The
// number of waves follows from sizes alone, so plans do not depend on the choices. A wave may be empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/tensor/expert_lanes.h"
#include "engine/tensor/operand.h"

namespace tandem {

// Slots of each wave after the first one. While it is computed, the next wave is read into as many other slots. The
// slots that remain keep their experts, for later tokens.
constexpr int64_t slots_of_turn(int64_t slots) { return std::max<int64_t>(1, slots / 4); }

// Waves that `choices` choices among E experts may need: one if they all fit. Else the first wave leaves the slots of a
// turn free, and one turn follows another.
constexpr int64_t expert_waves(int64_t choices, int64_t E, int64_t slots) {
  const int64_t most = std::min(choices, E), turn = slots_of_turn(slots);
  return most <= slots ? 1 : 1 + (most - (slots - turn) + turn - 1) / turn;
}

// What a wave asks for. k: choices of a token. ids: [S, k] experts; weights: [S, k], the router's.
struct WaveRequest {
  int64_t layer = 0, wave = 0, k = 0;
  std::span<const int32_t> ids;
  std::span<const float> weights;
};

// Contract: fetch() returns when the wave's experts are in their slots. places: [S, k], the slot of each choice, or
// kElsewhere if it belongs to another wave. The waves of a layer are asked for in order, with the same ids. The
// products of a wave end before the next one is asked for. Error: an expert that cannot be read. Threads: one at
// a time.
class ExpertSource {
 public:
  virtual ~ExpertSource() = default;
  virtual void fetch(const WaveRequest& request, std::span<int32_t> places) = 0;
};

// The experts of a layer, if they move. `slots` of them are in memory at a time, side by side.
struct MovingExperts {
  int64_t slots = 0;       // 0: the layer has no experts, or they stay
  int64_t given_back = 0;  // of these slots: the system has the last ones for a while
  size_t slot_bytes = 0;
  Operand experts;
  ExpertSource* source = nullptr;  // borrowed
  // With lanes (engine/tensor/expert_lanes.h), else nullptr: addresses for all `count` experts in the host's memory,
  // side by side, and the landings, with `places` places each.
  ExpertLanes* lanes = nullptr;  // borrowed
  int64_t count = 0, places = 0;
  int64_t in_host = 0;          // experts that the host's memory holds at a time, of all `count`
  bool inserts_misses = false;  // a text's experts that the host computes get slots too
  Operand host;
  std::vector<Operand> landings;
  Operand ahead;  // the landing of experts that are copied ahead of prompts (Y3); layers take turns with two of them
};

// Whether lanes may divide the experts of a pass with so many choices in a layer: those without a slot have to be in
// the host's memory together. Other passes fetch experts into slots, wave by wave.
constexpr bool may_divide(const MovingExperts& moving, int64_t choices) {
  return std::min(choices, moving.count - moving.slots) <= moving.in_host;
}

}  // namespace tandem
