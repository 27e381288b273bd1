// A real GPU before it is opened, and the choice between several interfaces to one card.
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
  bool discrete = false;  // a card with its own memory, behind a bus
  // The trial of its driver (engine/device/proof/) finds the rest. Without a trial, the rest keeps these defaults.
  bool shares_memory = false;  // as DeviceInfo::zero_copy
  int policies = 0;            // number of waiting policies that passed
  int compute_units = 0;
  double look_seconds = 0;  // of a first look (engine/device/first_look.h); 0: none was made
};

// The index of the GPU to use. gpus: at least one, in order of preference. Only interfaces to the first GPU's card
// count. The interface with a faster first look wins, if it is faster by a fifth or more. Then one that shares memory
// wins, then one with more waiting policies, then the first one.
size_t best_of(std::span<const KnownGpu> gpus);
bool is_same_card(const KnownGpu& a, const KnownGpu& b);  // by their names when either driver does not name the card

// The id that opens the GPU for text generation when the user names no devices. A card keeps activations,
// keys and values in its own memory, even if it can reach the host's. Over the bus, each pass would read them
// again ("vulkan:0?copies=1").
std::string default_id(const KnownGpu& gpu);

// The reason for preferring one GPU to another: "it is faster (first looks took 41 and 62 us)".
std::string why_preferred(const KnownGpu& preferred, const KnownGpu& other);

}  // namespace tandem
