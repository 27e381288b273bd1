// Y6: what a model needs of the memory, where its experts would lie, and how long a token takes at least.
//
// `tandem info` says this before anything is loaded.
//
// Contract: memory_needs() reads the header of the file and takes no memory. The other functions are pure. Bytes are
// those of packed weights. Errors: those of ModelLoading and of expert_slots().
#pragma once

#include <cstdint>
#include <optional>

#include "engine/model/gguf.h"
#include "sync/memory_room.h"
#include "tandem/types.h"

namespace tandem {

struct MemoryNeeds {
  uint64_t weight_bytes = 0;  // all weights
  uint64_t expert_bytes = 0;  // of them, experts; shared experts are no experts here
  uint64_t token_bytes = 0;   // the weights that a token reads, experts included
  uint64_t token_expert_bytes = 0;
  int64_t experts = 0, slots = 0;  // of a layer: all, and those in memory; 0: no experts
  // With copies the slots are a GPU's: experts of a layer in the host's memory beside them; without copies 0.
  int64_t in_host = 0;
  int64_t context = 0;         // tokens
  uint64_t context_bytes = 0;  // keys and values of one text of so many tokens
  std::optional<MemoryRoom> room;

  bool experts_move() const { return slots < experts; }
  int64_t held() const;             // experts of a layer in a slot or in the host's memory
  uint64_t resident_bytes() const;  // weights that are in memory, copies too
};

// Budgets of experts. copies: as MachineOptions::expert_copies.
struct ExpertBudgets {
  ExpertBudget device, host;
  bool copies = false;
};

MemoryNeeds memory_needs(const GgufFile& file, const ExpertBudgets& budgets, int64_t context, KvType kv_type,
                         const std::optional<MemoryRoom>& room);

// The least time of a token's weights, in seconds. `storage` is for the share of experts that no memory holds, if
// every expert is asked for equally often. Texts that ask for some experts more often read less.
struct TokenTime {
  double memory = 0, storage = 0;
  double seconds() const { return memory + storage; }
};
// Rates in bytes per second.
TokenTime least_token_time(const MemoryNeeds& needs, double memory_rate, double storage_rate);

}  // namespace tandem
