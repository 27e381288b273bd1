// Y6: how many experts of each layer are in memory, from a budget of the user's or from the memory that is free.
//
// Contract: pure functions. A layer of E experts has at least one slot and at most E.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/model/expert_records.h"
#include "sync/memory_room.h"
#include "tandem/types.h"

namespace tandem {

// "auto", "25%", "512MiB", "2GiB", "1.5TiB". A share is above 0 and at most 100, bytes are at least 1. bare_gib: a
// number alone counts GiB.
std::optional<ExpertBudget> read_expert_budget(std::string_view text, bool bare_gib);

// The experts and the other weights of a model, as they are packed.
struct PackedSizes {
  std::span<const ExpertRecords> records;  // of all layers with experts; empty: the model has none
  uint64_t expert_bytes() const;           // of all experts
  uint64_t layer_bytes() const;            // of one expert in each layer
  int64_t experts() const;                 // of a layer, the most
  uint64_t other_bytes = 0;                // of all weights that are no experts
};

// slot_bytes: of all weights (ModelLoading::slot_bytes()).
PackedSizes packed_sizes(std::span<const ExpertRecords> records, std::span<const size_t> slot_bytes);

// Slots of each layer under one budget; nothing: the budget sets no limit. Error when it holds less than one expert of
// each layer. flag: for the message.
std::optional<int64_t> slots_of_budget(const ExpertBudget& budget, const PackedSizes& sizes, const char* flag);

// Of the whole machine; 0: the system does not say.
uint64_t machine_memory();

// Error: a budget in bytes above machine_bytes. 0 is no limit. flag: for the message.
void require_budget_of_machine(const ExpertBudget& budget, const char* flag, uint64_t machine_bytes);

// Slots of each layer; nothing: all experts stay in memory. `device` and `host` are --expert-budget and --host-budget,
// and the smaller one counts, because both name one memory. If both are automatic, experts move only if the weights do
// not fit `room`. A part of the room stays free for the context and for other buffers. Error: a budget for a model
// without experts; one above machine_bytes; no room for one expert of each layer.
std::optional<int64_t> expert_slots(const ExpertBudget& device, const ExpertBudget& host, const PackedSizes& sizes,
                                    const std::optional<MemoryRoom>& room, uint64_t machine_bytes = machine_memory());

// Experts that are copied from the host's memory to slots of a GPU. in_host: experts of each layer that the host's
// memory holds.
struct CopiedExperts {
  int64_t slots = 0, in_host = 0;
  bool operator==(const CopiedExperts&) const = default;
};
// nullopt: nothing moves, because there is no budget and all experts fit. The slots are those of `device`, even if they
// are as many as experts. Without `host` the memory holds as many experts beside them as fit `room`. If both are
// automatic and the weights do not fit, slots get a quarter of what fits. Errors: as above; `host` without `device`.
std::optional<CopiedExperts> copied_experts(const ExpertBudget& device, const ExpertBudget& host,
                                            const PackedSizes& sizes, const std::optional<MemoryRoom>& room,
                                            uint64_t machine_bytes = machine_memory());

// A look at the free memory while texts run. now: slots of each layer at present; most: at the start. first_bytes: what
// was free before the model was loaded. layer_bytes: of one slot of every layer.
struct SlotRoom {
  int64_t now = 0, most = 0;
  uint64_t free_bytes = 0, first_bytes = 0, layer_bytes = 0;
};
// Slots of each layer from now on. When little is left, the model returns slots, until a tenth of the first room is
// free again. When much is free, it takes them again. In between nothing changes. One slot always remains.
int64_t slots_from_now_on(const SlotRoom& room);

}  // namespace tandem
