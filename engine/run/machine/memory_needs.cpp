#include "engine/run/machine/memory_needs.h"

#include <algorithm>

#include "engine/device/operators/kv_cache.h"
#include "engine/model/loading.h"
#include "engine/run/machine/expert_budget.h"
#include "sync/pool.h"

namespace tandem {
namespace {

uint64_t context_bytes(const ModelConfig& config, int64_t context, KvType type) {
  const KvCache cache = kv_cache(type, config.kv_heads, config.head_dim, config.head_dim_v, context);
  return static_cast<uint64_t>(config.layers) * (cache.k_bytes() + cache.v_bytes());
}

}  // namespace

// The host's memory holds other experts than the slots, as far as there are others.
int64_t MemoryNeeds::held() const { return std::min(experts, slots + in_host); }

uint64_t MemoryNeeds::resident_bytes() const {
  if (!experts_move() && in_host == 0) return weight_bytes;
  return weight_bytes - expert_bytes +
         expert_bytes / static_cast<uint64_t>(experts) * static_cast<uint64_t>(slots + in_host);
}

// A token reads one row of an embedding of its own, and the whole matrix where that gives the output too.
MemoryNeeds memory_needs(const GgufFile& file, const ExpertBudgets& budgets, int64_t context, KvType kv_type,
                         const std::optional<MemoryRoom>& room) {
  sync::Pool none;
  const ModelLoading loading(file, none);
  const ModelConfig& config = loading.config();
  const std::vector<size_t> slots = loading.slot_bytes();
  MemoryNeeds needs;
  needs.context = context;
  needs.context_bytes = context_bytes(config, context, kv_type);
  needs.room = room;
  const PackedSizes sizes = packed_sizes(loading.records(), slots);
  needs.expert_bytes = sizes.expert_bytes();
  needs.weight_bytes = sizes.other_bytes + needs.expert_bytes;
  needs.experts = sizes.experts();
  if (!budgets.copies) {
    needs.slots = expert_slots(budgets.device, budgets.host, sizes, room).value_or(needs.experts);
  } else {
    const CopiedExperts all{needs.experts, 0};
    const CopiedExperts copied = copied_experts(budgets.device, budgets.host, sizes, room).value_or(all);
    needs.slots = copied.slots, needs.in_host = copied.in_host;
  }
  if (config.experts) needs.token_expert_bytes = static_cast<uint64_t>(config.experts->used) * sizes.layer_bytes();
  needs.token_bytes = sizes.other_bytes - (config.tied_output ? 0 : slots.front()) + needs.token_expert_bytes;
  return needs;
}

TokenTime least_token_time(const MemoryNeeds& needs, double memory_rate, double storage_rate) {
  TokenTime time{static_cast<double>(needs.token_bytes) / memory_rate, 0};
  if (!needs.experts_move()) return time;
  const double missing = static_cast<double>(needs.experts - needs.held()) / static_cast<double>(needs.experts);
  time.storage = missing * static_cast<double>(needs.token_expert_bytes) / storage_rate;
  return time;
}

}  // namespace tandem
