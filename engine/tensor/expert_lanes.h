// Y2: lanes that divide the experts of a layer: what operators have to know about the decision.
//
// The GPU has slots for some experts of each layer, and the host's memory has all of them. While a pass runs, a
// decision gives each chosen expert to one of three places: the GPU, which has it in a slot; the host, which computes
// it from its own memory; or the GPU again, after the link has copied the expert to a place of a landing. There are a
// few landings, which all layers share. Copies go to one of them in each turn, so the GPU computes the experts of a
// turn while the link copies those of the next one.
//
// The decision is data: lists and tables in memory, which every lane reads. No plan depends on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/tensor/operand.h"

namespace tandem {

// Turns of copies that a layer asks for, and one more of experts that were copied ahead (Y3).
inline constexpr int64_t kMostCopyTurns = 8, kMostTurns = kMostCopyTurns + 1;

// A table of copies: their number n, then n times (from, to, expert), counted in experts.
constexpr int64_t move_table_words(int64_t places) { return 1 + 3 * places; }

// Sizes of a decision. places: of each landing. inserts: most experts that are inserted behind the layer. ahead: the
// last turn has experts that were copied before the decision (Y3), so nothing is copied in it.
struct LaneSizes {
  int64_t slots = 0, places = 0, turns = 0, inserts = 0;
  bool ahead = false;
  int64_t copy_turns() const { return turns - (ahead ? 1 : 0); }
  bool operator==(const LaneSizes&) const = default;
};

// What a decision is asked for. k: choices of a token. ids and weights: [S, k], the router's.
struct LaneRequest {
  int64_t layer = 0, k = 0;
  std::span<const int32_t> ids;
  std::span<const float> weights;
  std::string schedule;  // a name of engine/moe/schedules/; empty: the best one
  bool keeps = false;    // copied experts get slots, as far as the policy gives them any
  LaneSizes sizes;
};

// What it writes. Choices have a place or kElsewhere. row_of: the choice's own number if the host computes it.
struct LaneTables {
  std::span<int32_t> in_slots, on_host, row_of;                 // [S, k]: a slot; an expert; a row
  std::array<std::span<int32_t>, kMostTurns> landed;            // [S, k] by turn: a place of the landing
  std::array<std::span<int32_t>, kMostTurns> copies, keepings;  // by turn: to the landing; from it to slots
  std::span<int32_t> inserts;  // copies from the host's memory to slots; empty: there are none
};

// Y3: what a layer guesses about a later one. scores: [tokens, E] of its router, `stride` from row to row.
struct GuessRequest {
  int64_t layer = 0, next = 0, k = 0, tokens = 0;
  std::span<const float> scores;
  int64_t stride = 0;
  std::string schedule;  // as in LaneRequest
};
// A copy that nobody has asked for yet. slot: one of text, or a place of the guessed layer's landing for copies that
// are made ahead of prompts.
struct CopyAhead {
  int32_t expert = 0, slot = 0;
  bool operator==(const CopyAhead&) const = default;
};

// Contract: decide() before the copies of a layer, one layer at a time. kept() when an expert is in its slot for good.
// next_ahead() behind the decision of the layer that guesses: the expert whose copy comes next, or nothing, once the
// guessed layer has been decided. may_go_on() between pieces of that copy, and copied_ahead() at its end. Other threads
// may call all but decide() beside decide(). Errors: none but broken invariants.
class ExpertLanes {
 public:
  virtual ~ExpertLanes() = default;
  virtual void decide(const LaneRequest& request, const LaneTables& tables) = 0;
  virtual void kept(int64_t layer, int32_t expert, int32_t slot) = 0;
  // Before a copy overwrites a slot: where the caller copies the expert that has left the slot, or nullptr.
  virtual std::byte* take_back(int64_t /*layer*/, int32_t /*slot*/) { return nullptr; }
  virtual std::optional<CopyAhead> next_ahead(const GuessRequest& guess) = 0;
  virtual bool may_go_on(int64_t next) const = 0;
  virtual void copied_ahead(int64_t next, const CopyAhead& copy, size_t done_bytes, size_t bytes) = 0;
};

}  // namespace tandem
