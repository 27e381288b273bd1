// All policies by name, for `replay-moe` and for the engine. The bounds know the future and exist for comparison alone.
#include <algorithm>

#include "engine/moe/expert_policy.h"
#include "engine/moe/policies/policies.h"

namespace tandem {

// The order is that of tables and of `--help`: policies that an engine can have first, then bounds, then fixed sets.
std::span<const PolicyKind> expert_policies() {
  static constexpr PolicyKind kPolicies[] = {
      {.name = "lru", .explains = "leaves: asked for longest ago", .make = make_lru},
      {.name = "lfu", .explains = "leaves: asked for least often, then longest ago", .make = make_lfu},
      {.name = "mrs", .explains = "leaves: least recent score (HybriMoE)", .make = make_mrs},
      {.name = "ema", .explains = "leaves: least recent use, a moving average", .make = make_ema},
      {.name = "auto", .explains = "follows the one of these four that missed least lately", .make = make_auto},
      {.name = "belady",
       .explains = "bound: leaves the one that is used again last",
       .knows_future = true,
       .make = make_belady},
      {.name = "bypass",
       .explains = "bound: as belady, and a miss need not be inserted",
       .insertion = Insertion::if_nearer,
       .knows_future = true,
       .make = make_belady},
      {.name = "static",
       .explains = "fixed: those that the trace asks for most",
       .insertion = Insertion::fixed,
       .knows_future = true,
       .make = make_static},
      {.name = "half",
       .explains = "fixed: those that the first half asks for most, judged on the second half",
       .insertion = Insertion::fixed,
       .second_half = true,
       .make = make_half},
  };
  return kPolicies;
}

const PolicyKind* expert_policy(std::string_view name) {
  const auto found = std::ranges::find(expert_policies(), name, &PolicyKind::name);
  return found == expert_policies().end() ? nullptr : &*found;
}

}  // namespace tandem
