// Y6: how fast a card would write text with a part of the experts in its memory. Everything here is modelled.
//
// Contract: pure functions. The model: one token reads everything that is not an expert once, and its k experts of each
// layer once, at the card's rate. A miss is copied over the link first, and nothing overlaps. Caches of keys and values
// and activations are left out. Bytes and seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/config.h"
#include "engine/tensor/types.h"

namespace tandem {

struct Card {
  std::string name;
  double memory_bytes = 0;
  double bytes_per_second = 0;       // of its memory
  double link_bytes_per_second = 0;  // from the host's memory
};
// "gbps=960,memory=16,link=63", and "name=..." if wanted: GB and GB/s of 10^9 bytes. Error: what is wrong.
Card parse_card(const std::string& text);

// A mixture of experts in bytes.
struct ExpertBytes {
  int64_t layers = 0, experts = 0, used = 0;  // with experts; E, k
  double expert = 0;                          // of one expert
  double other_read = 0;                      // what a token reads besides its experts
  double other_held = 0;                      // what is resident besides experts
  double held(double budget) const;           // resident with that share of the experts, 0 to 1
};
// All matrices in that storage type, routers in f32.
ExpertBytes expert_bytes(const ModelConfig& config, StorageType type);

double tokens_per_second(const ExpertBytes& model, const Card& card, double hit_rate);

// A point of a curve: resident bytes, and tokens a second.
struct SpeedPoint {
  double bytes = 0, tokens_per_second = 0;
};
// The first point after which the next brings less than a twentieth more for each GB; nothing where every GB pays. The
// points rise.
std::optional<size_t> knee_of(std::span<const SpeedPoint> points);

}  // namespace tandem
