// A real GPU as it is known before it is opened, and the choice between several interfaces to one card.
//
// All functions are pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/device/card_name.h"

namespace tandem {

struct KnownGpu {
  std::string id, name;
  CardName card{};
  bool discrete = false;  // a card with memory of its own, behind a bus
  // The rest was found when its driver was tried (engine/device/proof/), and is empty where it was not.
  bool shares_memory = false;  // DeviceInfo::zero_copy
  int policies = 0;            // ways of waiting that passed
  int compute_units = 0;
  double look_seconds = 0;  // of a first look (engine/device/first_look.h); 0: there was none
};

// The index of the one to use; gpus: at least one, in order of preference. The first one's card counts, and of the
// interfaces to it the one that was faster at the first look, by a fifth and more; then one that shares memory; then
// the one with more ways of waiting; then the first.
size_t best_of(std::span<const KnownGpu> gpus);
bool is_same_card(const KnownGpu& a, const KnownGpu& b);  // by their names where neither driver names the card

// The id by which a text opens it where nobody names devices. A card keeps activations, keys and values in its own
// memory, also where it can reach the host's: over the bus each pass reads them anew ("vulkan:0?copies=1").
std::string default_id(const KnownGpu& gpu);

// The reason why one was preferred to another: "it is faster at a first look (41 us, 62 us)".
std::string why_preferred(const KnownGpu& preferred, const KnownGpu& other);

}  // namespace tandem
